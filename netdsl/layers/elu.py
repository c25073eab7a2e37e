"""ELU: what is negative goes exponentially to a floor."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layers._elementwise import Elementwise


class ELU(Elementwise):
    """max(x, 0) + alpha * (exp(min(x, 0)) - 1), times NVCaffe's lambda, which makes it a SELU."""

    config = pb.ELUParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.alpha = layer.elu_param.alpha
        self.scale: float = getattr(layer.elu_param, "lambda")

    def forward(self, x: Tensor) -> Tensor:
        top = F.elu(x, self.alpha)
        return top * self.scale if self.scale != 1 else top

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return scaled(g, g.node("Elu", x, alpha=self.alpha), self.scale)
