"""What layers share that join two blobs value by value, the smaller one repeated."""

from __future__ import annotations

from collections.abc import Sequence

from netdsl.errors import ShapeError
from netdsl.layer import Shape


def check_pair(bottoms: Sequence[Shape]) -> None:
    """Axes are compared from the last one on: each is equal in both, or is 1 in one of them."""
    a, b = bottoms
    if any(x != y and 1 not in (x, y) for x, y in zip(a[::-1], b[::-1], strict=False)):
        raise ShapeError(f"shapes {list(a)} and {list(b)} don't go together: axes must be equal or 1")
