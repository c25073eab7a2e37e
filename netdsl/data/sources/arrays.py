"""Sources whose items are rows of arrays, in memory or in mapped files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from netdsl.data.sources.source import Indices, Item
from netdsl.data.types import Array

# The arrays of a part, or `None` if its rows must be read one by one.
PartArrays = Callable[[int], Sequence[Array] | None]


def gather_rows(indices: Indices, ends: Indices, arrays: PartArrays) -> Item | None:
    """Return the rows at these indices, for each of the arrays that every part has. `ends` are the ends of the parts.

    Returns `None` if a part has no arrays, or if its rows have another shape or type. The arrays of each part are
    requested once, beginning with the part of the first row, in a circle over the parts.
    """
    parts = np.searchsorted(ends, indices, side="right")
    rows = indices - np.where(parts, ends[parts - 1], 0)
    if (parts == parts[0]).all():
        part_arrays = arrays(int(parts[0]))
        return None if part_arrays is None else tuple([array[as_slice(rows)] for array in part_arrays])
    order = np.argsort((parts - parts[0]) % len(ends), kind="stable")
    pieces = _pieces(parts[order], rows[order], arrays)
    return None if pieces is None else _joined(pieces, np.argsort(order))


def as_slice(rows: Indices) -> Indices | slice:
    """Return a slice, which copies nothing, if the rows are evenly spaced, and otherwise the rows themselves."""
    first, last = int(rows[0]), int(rows[-1])
    step = int(rows[1]) - first if len(rows) > 1 else 1
    return slice(first, last + 1, step) if step > 0 and (np.diff(rows) == step).all() else rows


def _pieces(sorted_parts: Indices, rows: Indices, arrays: PartArrays) -> list[list[Array]] | None:
    """Return the rows of each part, for each of its arrays."""
    starts = [0, *(np.flatnonzero(np.diff(sorted_parts)) + 1).tolist()]
    ends, parts, firsts = [*starts[1:], len(rows)], sorted_parts[starts].tolist(), rows[starts].tolist()
    pieces: list[list[Array]] = []
    for part, first, start, end in zip(parts, firsts, starts, ends, strict=True):
        part_arrays = arrays(part)
        if part_arrays is None:
            return None
        # A slice is faster for a single row.
        selection = slice(first, first + 1) if end - start == 1 else rows[start:end]
        pieces.append([array[selection] for array in part_arrays])
    return pieces


def _joined(pieces: list[list[Array]], order: Indices) -> Item | None:
    try:
        columns = [np.concatenate(column, casting="no") for column in zip(*pieces, strict=True)]
    except (TypeError, ValueError):  # the parts' types or shapes differ
        return None
    return tuple(column[order] for column in columns)


class ArraySource:
    """Items from consecutive parts. A part is one array for each top, all equally long."""

    def __init__(self, parts: Sequence[tuple[Array, ...]]) -> None:
        # Memory-mapped arrays are slow to index.
        self._parts = [tuple(np.asarray(array) for array in part) for part in parts]
        self._ends = np.cumsum([len(part[0]) for part in parts], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def fetch(self, index: int) -> Item:
        """Return the rows of one item, copied out of their files."""
        part = int(np.searchsorted(self._ends, index, side="right"))
        row = index - int(self._ends[part]) + len(self._parts[part][0])
        return tuple(as_top(np.array(array[row])) for array in self._parts[part])

    def labels(self) -> Array | None:
        """Return the labels of all items, or `None` unless each item has one number after its first array."""
        if any(len(part) < 2 or part[1].size != len(part[1]) for part in self._parts):
            return None
        return np.concatenate([part[1].ravel() for part in self._parts])

    def item(self, fetched: Item) -> Item:
        """Return the item, which fetching has completed."""
        return fetched

    def take(self, indices: Indices) -> Item | None:
        """Return the rows of many items."""
        return gather_rows(indices, self._ends, lambda part: self._parts[part])

    def close(self) -> None:
        """Do nothing, because mapped files are closed with their arrays."""


def as_top(array: Array) -> Array:
    """Return values in the types that transforms and nets accept. Bytes stay bytes, and all others become float32."""
    return array if array.dtype == np.uint8 and array.ndim else array.astype(np.float32, copy=False)
