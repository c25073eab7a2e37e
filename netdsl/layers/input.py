"""Input: blobs that come from outside."""

from __future__ import annotations

from collections.abc import Sequence

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import BringsData, Shape
from netdsl.layer.data import DataOrigin, stated_shapes


class Input(BringsData):
    """The caller of the net gives its tops."""

    config = pb.InputParameter
    tops = (1, None)
    data_origin = DataOrigin.INPUT

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return one shape for each top, or one for all."""
        shapes = stated_shapes(self.layer)
        tops = len(self.layer.top)
        if len(shapes) not in (0, 1, tops):
            raise NetError(f"has {len(shapes)} shapes for {tops} tops; give one for each, or one for all")
        return (shapes or [()]) * tops if len(shapes) < 2 else shapes
