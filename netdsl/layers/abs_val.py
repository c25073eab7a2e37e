"""AbsVal: the absolute value."""

from __future__ import annotations

from torch import Tensor

from netdsl.layer import OnnxGraph
from netdsl.layer.running import Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise


class AbsVal(Elementwise, ReadsInBackward):
    """Computes the absolute value: |x|."""

    in_place = False

    def forward(self, x: Tensor) -> Tensor:
        return x.abs()

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Abs", x)
