"""BNLL: the binomial normal log likelihood, a smooth ReLU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from netdsl.layer import OnnxGraph
from netdsl.layer.running import Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise


class BNLL(Elementwise, ReadsInBackward):
    """Computes log(1 + exp(x))."""

    def forward(self, x: Tensor) -> Tensor:
        return F.softplus(x)

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Softplus", x)
