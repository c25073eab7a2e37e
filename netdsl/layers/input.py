"""Input: blobs that the caller of the net supplies."""

from __future__ import annotations

from collections.abc import Sequence

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import BringsData, Shape
from netdsl.layer.data import DataOrigin, stated_shapes


class Input(BringsData):
    """Has a top for each input of the net. The caller supplies their values."""

    config = pb.InputParameter
    tops = (1, None)
    data_origin = DataOrigin.INPUT

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shape of each top. A single shape in the settings applies to all."""
        shapes = stated_shapes(self.layer)
        tops = len(self.layer.top)
        if len(shapes) not in (0, 1, tops):
            raise NetError(f"there are {len(shapes)} shapes for {tops} tops; give one for each, or one for all")
        return (shapes or [()]) * tops if len(shapes) < 2 else shapes
