"""Swish: values times their own sigmoid."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layers._elementwise import Elementwise


class Swish(Elementwise):
    """x * sigmoid(beta * x)."""

    config = pb.SwishParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.beta = layer.swish_param.beta

    def forward(self, x: Tensor) -> Tensor:
        return x * (x * self.beta).sigmoid() if self.beta != 1 else F.silu(x)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Mul", x, g.node("Sigmoid", scaled(g, x, self.beta)))
