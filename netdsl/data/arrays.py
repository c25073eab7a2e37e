"""Items that lie in arrays along the first axis, in memory or in mapped files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from netdsl.data.source import Array, Item


class ArraySource:
    """Items out of parts that follow each other; a part is one array for each top, all equally long."""

    def __init__(self, parts: Sequence[tuple[Array, ...]]) -> None:
        self._parts = parts
        self._ends = list(accumulate(len(part[0]) for part in parts))

    def __len__(self) -> int:
        return self._ends[-1]

    def fetch(self, index: int) -> Item:
        """The rows of one item, copied out of their files."""
        which = bisect_right(self._ends, index)
        row = index - self._ends[which] + len(self._parts[which][0])
        return tuple(as_top(np.array(array[row])) for array in self._parts[which])

    def item(self, fetched: Item) -> Item:
        """What was fetched is it already."""
        return fetched

    def close(self) -> None:
        """Nothing is open: mapped files close with their arrays."""


def as_top(array: Array) -> Array:
    """Values in the types that transforms and nets take: bytes of images stay bytes, all else is float32."""
    return array if array.dtype == np.uint8 and array.ndim else array.astype(np.float32, copy=False)
