"""Reduces images for nets that are only tried out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from netdsl.errors import NetError, user_code_problem
from netdsl.layer import Shape
from netdsl.net.build import Built, reshape

_SIDE = 48  # pixels; images are halved while their longest side is at least this long
_POOLED = 32  # the total factor by which most nets pool


def halved_images(built: Built, inputs: Mapping[int, Shape], images: Iterable[int]) -> Iterator[None]:
    """Reshape a net for inputs of these shapes with some of them halved.

    Each step uses one of the sizes that the net accepts, smallest first.
    """
    halved = {edge: inputs[edge] for edge in images}
    longest = max((side for shape in halved.values() for side in shape[2:]), default=1)
    for times in range(max(0, int(math.log2(longest / _SIDE))), -1, -1):
        if _fits(built, {**inputs, **{edge: _halved(shape, times) for edge, shape in halved.items()}}):
            yield


def _fits(built: Built, inputs: Mapping[int, Shape]) -> bool:
    try:
        reshape(built, inputs)
    except Exception as problem:
        if isinstance(problem, NetError) or user_code_problem(problem) is not None:
            return False
        raise
    return True


def _halved(shape: Shape, times: int) -> Shape:
    """Return the shape of images whose sides are halved a number of times."""
    return (*shape[:2], *(_shorter(side, 2**times) for side in shape[2:]))


def _shorter(side: int, step: int) -> int:
    """Return a side divided by a step.

    Multiples of 32 stay multiples of 32, and odd sides become sides that pool to the same corners.
    """
    if side % _POOLED == 0:
        return math.ceil(side / step / _POOLED) * _POOLED
    return side // step if side % step == 0 else (side - 1) // step + 1
