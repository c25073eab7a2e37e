"""Flatten: several axes combined into one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of
from netdsl.layer.onnx_form import UNKNOWN, length_of, reshaped
from netdsl.layer.running import SharesMemory


class Flatten(HasOnnxForm, SharesMemory):
    """Combines the axes from `axis` to `end_axis`, both included, into one."""

    config = pb.FlattenParameter
    keeps_values = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p, axes = layer.flatten_param, len(bottoms[0])
        self.start = axis_of(p.axis, axes)
        self.end = axis_of(p.end_axis, axes, "end_axis") + 1
        if self.end < self.start:
            raise ShapeError(f"end_axis {p.end_axis} comes before axis {p.axis}; raise end_axis")

    def forward(self, x: Tensor) -> Tensor:
        flat = math.prod(x.shape[self.start : self.end])
        return x.reshape(*x.shape[: self.start], flat, *x.shape[self.end :])

    def onnx(self, g: OnnxGraph, x: str) -> str:
        shape = g.shape(x)
        if self.start == 1 and self.end == len(shape):
            return g.node("Flatten", x)
        rest = [length_of(g, x, axis) for axis in range(self.end, len(shape))]
        return reshaped(g, x, *[0] * self.start, UNKNOWN, *rest)
