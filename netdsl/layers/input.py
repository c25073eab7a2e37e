"""Input: blobs that come from outside."""

from __future__ import annotations

from collections.abc import Sequence

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Layer, Shape


class Input(Layer):
    """Its tops are given by whoever runs the net."""

    config = pb.InputParameter
    bottoms = (0, 0)
    tops = (1, None)
    external = True

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """One shape for each top, or one for all."""
        shapes = [tuple(shape.dim) for shape in self.layer.input_param.shape]
        tops = len(self.layer.top)
        if len(shapes) not in (0, 1, tops):
            raise NetError(f"has {len(shapes)} shapes for {tops} tops; give one for each, or one for all")
        return (shapes or [()]) * tops if len(shapes) < 2 else shapes
