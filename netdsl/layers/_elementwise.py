"""What layers share whose top has the shape of their bottom."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from netdsl.errors import NetError
from netdsl.layer import HasOnnxForm, Shape


class Elementwise(HasOnnxForm):
    """A layer whose top has the shape of its first bottom, and may take its place."""

    in_place = True
    any_layout = True

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        return [bottoms[0]]


def affine(x: Tensor, scale: float, shift: float) -> Tensor:
    """A bottom scaled and shifted, without the steps that change nothing."""
    scaled = x * scale if scale != 1 else x.view_as(x)
    return scaled + shift if shift else scaled


def log_of_base(base: float) -> float:
    """The natural logarithm of a base, for which Caffe writes -1 if it is e."""
    if base == -1:
        return 1.0
    if base <= 0:
        raise NetError(f"base {base:g} must be positive, or -1 for e")
    return math.log(base)
