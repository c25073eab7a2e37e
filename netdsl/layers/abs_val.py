"""AbsVal: the absolute value."""

from __future__ import annotations

from torch import Tensor

from netdsl.layers._elementwise import Elementwise


class AbsVal(Elementwise):
    """|x|."""

    in_place = False

    def forward(self, x: Tensor) -> Tensor:
        return x.abs()
