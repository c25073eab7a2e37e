"""Power: a constant power of what was scaled and shifted."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layers._elementwise import Elementwise, affine


class Power(Elementwise):
    """(shift + scale * x) ** power."""

    config = pb.PowerParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.power_param
        self.power, self.scale, self.shift = p.power, p.scale, p.shift

    def forward(self, x: Tensor) -> Tensor:
        if not self.power * self.scale:  # Caffe's rule: a constant, even where the bottom is infinite
            return torch.full_like(x, self.shift).pow(self.power)
        top = affine(x, self.scale, self.shift)
        return top.pow(self.power) if self.power != 1 else top

    def onnx(self, g: OnnxGraph, x: str) -> str:
        if not self.power * self.scale:
            return g.node("Expand", g.constant(float(torch.tensor(self.shift).pow(self.power))), g.node("Shape", x))
        top = scaled(g, x, self.scale, self.shift)
        return g.node("Pow", top, g.constant(self.power)) if self.power != 1 else top
