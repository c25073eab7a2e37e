"""Sources whose items are rows of arrays, in memory or in mapped files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netdsl.data.sources.gather import gather_rows
from netdsl.data.sources.source import Indices, Item
from netdsl.data.types import Array


class ArraySource:
    """Items from parts that follow each other; a part is one array for each top, all equally long."""

    def __init__(self, parts: Sequence[tuple[Array, ...]]) -> None:
        self._parts = [tuple(np.asarray(array) for array in part) for part in parts]  # mapped ones are slow to index
        self._ends = np.cumsum([len(part[0]) for part in parts], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def fetch(self, index: int) -> Item:
        """The rows of one item, copied out of their files."""
        part = int(np.searchsorted(self._ends, index, side="right"))
        row = index - int(self._ends[part]) + len(self._parts[part][0])
        return tuple(as_top(np.array(array[row])) for array in self._parts[part])

    def labels(self) -> Array | None:
        """The labels of all items, if each has one number after its first array."""
        if any(len(part) < 2 or part[1].size != len(part[1]) for part in self._parts):
            return None
        return np.concatenate([part[1].ravel() for part in self._parts])

    def item(self, fetched: Item) -> Item:
        """The item, which is complete once it is fetched."""
        return fetched

    def take(self, indices: Indices) -> Item | None:
        """The rows of many items."""
        return gather_rows(indices, self._ends, lambda part: self._parts[part])

    def close(self) -> None:
        """Do nothing, since mapped files are closed with their arrays."""


def as_top(array: Array) -> Array:
    """Values in the types that transforms and nets take: arrays of bytes stay so, all others become float32."""
    return array if array.dtype == np.uint8 and array.ndim else array.astype(np.float32, copy=False)
