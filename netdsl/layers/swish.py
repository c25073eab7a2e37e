"""Swish: values times their own sigmoid."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.running import KeepsSigns, Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise


class Swish(Elementwise, KeepsSigns, ReadsInBackward):
    """Computes x * sigmoid(beta * x)."""

    config = pb.SwishParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.beta = layer.swish_param.beta

    def forward(self, x: Tensor) -> Tensor:
        return x * (x * self.beta).sigmoid() if self.beta != 1 else F.silu(x)

    def reads_tops(self) -> Reads:
        return Reads.PASSED

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        top = self.beta * tops[0]
        return [gradients[0] * (top + (seen[0] * self.beta).sigmoid() * (1 - top))]

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Mul", x, g.node("Sigmoid", scaled(g, x, self.beta)))
