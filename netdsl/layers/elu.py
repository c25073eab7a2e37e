"""ELU: an exponential linear unit."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.running import KeepsSigns, Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise


class ELU(Elementwise, KeepsSigns, ReadsInBackward):
    """Computes max(x, 0) + alpha * (exp(min(x, 0)) - 1). NVCaffe's `lambda` scales the result, which makes it a
    SELU."""

    config = pb.ELUParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.alpha = layer.elu_param.alpha
        self.scale: float = getattr(layer.elu_param, "lambda")

    def forward(self, x: Tensor) -> Tensor:
        top = F.elu(x, self.alpha)
        return top * self.scale if self.scale != 1 else top

    def keeps_signs(self) -> bool:
        return self.alpha >= 0 and self.scale > 0

    def reads_bottoms(self) -> Reads:
        return Reads.NOTHING if self.is_in_place() and self.keeps_signs() else Reads.SIGNS

    def reads_tops(self) -> Reads:
        return Reads.PASSED

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        below = self.scale * self.alpha + tops[0]
        return [gradients[0] * torch.where(bottoms[0] > 0, self.scale, below)]

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return scaled(g, g.node("Elu", x, alpha=self.alpha), self.scale)
