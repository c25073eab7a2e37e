"""SeLu: a scaled exponential linear unit, which preserves mean and variance."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.running import KeepsSigns, Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise


class SeLu(Elementwise, KeepsSigns, ReadsInBackward):
    """Computes lambda * x for positive x, and lambda * alpha * (exp(x) - 1) otherwise."""

    config = pb.SeLuParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.scale: float = getattr(layer.selu_param, "lambda")
        self.alpha = layer.selu_param.alpha

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * F.elu(x, self.alpha)

    def keeps_signs(self) -> bool:
        return self.alpha >= 0 and self.scale > 0

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return scaled(g, g.node("Elu", x, alpha=self.alpha), self.scale)
