"""Rows picked out of arrays that follow each other in parts, all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from netdsl.data.sources.source import Array, Indices, Item

Arrays = Callable[[int], Sequence[Array] | None]


def gathered(indices: Indices, ends: Indices, arrays: Arrays) -> Item | None:
    """The rows at these indices, for each of the arrays that every part has.

    None if a part has none, or rows of another shape or type. `ends` says where the parts end. Each that is needed is
    asked for its arrays once: that of the first row, then those after it, and then those from the beginning on.
    """
    which = np.searchsorted(ends, indices, side="right")
    rows = indices - np.where(which, ends[which - 1], 0)
    if (which == which[0]).all():
        found = arrays(int(which[0]))
        return None if found is None else tuple([array[_evenly(rows)] for array in found])
    order = np.argsort((which - which[0]) % len(ends), kind="stable")
    pieces = _pieces(which[order], rows[order], arrays)
    return None if pieces is None else _joined(pieces, np.argsort(order))


def _evenly(rows: Indices) -> Indices | slice:
    """A slice, which copies nothing, if as many rows are passed over after each."""
    first, last = int(rows[0]), int(rows[-1])
    step = int(rows[1]) - first if len(rows) > 1 else 1
    return slice(first, last + 1, step) if step > 0 and (np.diff(rows) == step).all() else rows


def _pieces(which: Indices, rows: Indices, arrays: Arrays) -> list[list[Array]] | None:
    """What each part has of the rows, which are sorted by their parts."""
    starts = [0, *(np.flatnonzero(np.diff(which)) + 1).tolist()]
    ends, parts, firsts = [*starts[1:], len(rows)], which[starts].tolist(), rows[starts].tolist()
    pieces: list[list[Array]] = []
    for part, first, start, end in zip(parts, firsts, starts, ends, strict=True):
        found = arrays(part)
        if found is None:
            return None
        chosen = slice(first, first + 1) if end - start == 1 else rows[start:end]  # the quickest for one
        pieces.append([array[chosen] for array in found])
    return pieces


def _joined(pieces: list[list[Array]], order: Indices) -> Item | None:
    try:
        columns = [np.concatenate(column, casting="no") for column in zip(*pieces, strict=True)]
    except (TypeError, ValueError):  # of different types, or of different shapes
        return None
    return tuple(column[order] for column in columns)
