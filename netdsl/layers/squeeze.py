"""Squeeze: the bottom without axes of length 1."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of
from netdsl.layer.running import SharesMemory


class Squeeze(HasOnnxForm, SharesMemory):
    """Removes the given axes, or all axes of length 1 if none is given."""

    config = pb.SqueezeParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.axes = {axis_of(axis, len(bottoms[0])) for axis in layer.squeeze_param.axis}
        for axis in sorted(self.axes):
            if bottoms[0][axis] != 1:
                raise ShapeError(
                    f"axis {axis} has length {bottoms[0][axis]} and can't be removed; name only axes of length 1"
                )

    def forward(self, x: Tensor) -> Tensor:
        gone = self.axes or {axis for axis, size in enumerate(x.shape) if size == 1}
        return x.reshape([size for axis, size in enumerate(x.shape) if axis not in gone])

    def onnx(self, g: OnnxGraph, x: str) -> str:
        gone = sorted(self.axes) or [axis for axis in range(len(g.shape(x))) if g.length(x, axis) == 1]
        return g.node("Squeeze", x, g.constant(gone)) if gone else x
