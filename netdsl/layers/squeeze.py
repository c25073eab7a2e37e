"""Squeeze: the bottom without axes of size one."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of
from netdsl.layer.running import SharesMemory


class Squeeze(HasOnnxForm, SharesMemory):
    """Takes away the axes that are named, or all of size one if none is."""

    config = pb.SqueezeParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.axes = {axis_of(axis, len(bottoms[0])) for axis in layer.squeeze_param.axis}
        for axis in sorted(self.axes):
            if bottoms[0][axis] != 1:
                raise ShapeError(f"axis {axis} can't be taken away: its size is {bottoms[0][axis]}, not 1")

    def forward(self, x: Tensor) -> Tensor:
        gone = self.axes or {axis for axis, size in enumerate(x.shape) if size == 1}
        return x.reshape([size for axis, size in enumerate(x.shape) if axis not in gone])

    def onnx(self, g: OnnxGraph, x: str) -> str:
        gone = sorted(self.axes) or [axis for axis in range(len(g.shape(x))) if g.length(x, axis) == 1]
        return g.node("Squeeze", x, g.constant(gone)) if gone else x
