"""HardSwish: x times a piecewise linear sigmoid."""

from __future__ import annotations

from torch import Tensor

from netdsl.layer import OnnxGraph
from netdsl.layer.running import KeepsSigns, Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise


class HardSwish(Elementwise, KeepsSigns, ReadsInBackward):
    """Computes x * min(max(x + 3, 0), 6) / 6."""

    origin = "several forks"

    def forward(self, x: Tensor) -> Tensor:
        return x * (x + 3).clamp(0, 6) / 6

    def reads_bottoms(self) -> Reads:
        return Reads.NOTHING if self.is_in_place() else Reads.VALUES

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("HardSwish", x)
