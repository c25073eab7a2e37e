"""What every source of items is: it knows how many there are, fetches one, and says what one looks like."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]
Indices = NDArray[np.int64]
Item = tuple[Array, ...]  # one array for each top: often an image, as channels, height, width in BGR, and a label


class Source(Protocol):
    """Items in a fixed order.

    `fetch` is what has to wait for a disk. It is called from one thread, mostly with rising numbers, so that a database
    can go on where its cursor is. `item` makes arrays of what was fetched; it only computes, from many threads at once.
    What is wrong with an item is a DataError that says where it is.
    """

    def __len__(self) -> int:
        """How many items there are."""
        ...

    def fetch(self, index: int) -> Any:
        """One item, as it is stored."""
        ...

    def item(self, fetched: Any) -> Item:
        """Its arrays."""
        ...

    def close(self) -> None:
        """Let go of files."""
        ...


@runtime_checkable
class WholeSource(Source, Protocol):
    """A source that can give many items at once, without a step for each."""

    def take(self, indices: Indices) -> Item | None:
        """The arrays of these items, each with one more axis in front; None if they must be had one by one.

        It is called from the thread that fetches. A DataError says as much as None: whoever gets one finds out which
        item is bad by taking them one by one.
        """
        ...
