"""AbsVal: the absolute value."""

from __future__ import annotations

from torch import Tensor

from netdsl.layer import OnnxGraph
from netdsl.layers._elementwise import Elementwise


class AbsVal(Elementwise):
    """|x|."""

    in_place = False

    def forward(self, x: Tensor) -> Tensor:
        return x.abs()

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Abs", x)
