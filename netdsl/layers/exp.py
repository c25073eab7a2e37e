"""Exp: a constant base raised to the power of the bottom."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.running import Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise, affine, log_of_base


class Exp(Elementwise, ReadsInBackward):
    """Computes base ** (shift + scale * x)."""

    config = pb.ExpParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.exp_param
        log = log_of_base(p.base)
        self.scale, self.shift = log * p.scale, log * p.shift

    def forward(self, x: Tensor) -> Tensor:
        return affine(x, self.scale, self.shift).exp()

    def reads_tops(self) -> Reads:
        return Reads.PASSED

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        return [gradients[0] * tops[0] * self.scale]

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Exp", scaled(g, x, self.scale, self.shift))
