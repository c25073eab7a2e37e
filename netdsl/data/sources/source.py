"""The protocol of a source of items."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from netdsl.data.types import Array

Indices = NDArray[np.int64]
Item = tuple[Array, ...]  # one array for each top: often an image, as channels, height, width in BGR, and a label


class DataSplit(Enum):
    """One of the two parts of well-known data sets."""

    TRAIN = "train"
    TEST = "test"


class Source(Protocol):
    """Items in a fixed order.

    `fetch` is the part that waits for a disk. It is called from one thread, mostly with rising indices, so that a
    database can move a cursor forward. `item` decodes what was fetched; it only computes, in many threads at once. An
    item that is bad raises a DataError that says which one it is.
    """

    def __len__(self) -> int:
        """Return how many items there are."""
        ...

    def fetch(self, index: int) -> Any:
        """Return one item as it is stored."""
        ...

    def item(self, fetched: Any) -> Item:
        """Return the arrays of an item that was fetched."""
        ...

    def close(self) -> None:
        """Close all files."""
        ...


@runtime_checkable
class EndlessSource(Source, Protocol):
    """A source that draws its items itself, without an end."""

    @property
    def image_count(self) -> int:
        """How many images it draws them from."""
        ...


def count_of(source: Source) -> int:
    """Return how many items a source has, or how many images it draws them from without an end."""
    return source.image_count if isinstance(source, EndlessSource) else len(source)


@runtime_checkable
class LabelledSource(Source, Protocol):
    """A source that knows the labels of all items without reading the items."""

    def labels(self) -> Array | None:
        """Return the label of every item; None if the items have no labels of one number."""
        ...


@runtime_checkable
class StoredColors(Protocol):
    """A source that says in which order the channels of its images are stored."""

    stored_rgb: bool  # red, green, blue, and not in Caffe's order


@runtime_checkable
class LiveSource(Protocol):
    """A source of what happens now: reading it switches something on, and what was read is gone."""

    live: bool


@runtime_checkable
class NamedItems(Protocol):
    """A source whose items have names."""

    def name(self, index: int) -> str:
        """Return the name of an item; empty if it has none."""
        ...


@runtime_checkable
class NamedArrays(Protocol):
    """A source whose items' arrays have names."""

    @property
    def array_names(self) -> Sequence[str]:
        """The names of an item's arrays, in their order."""
        ...


@runtime_checkable
class WholeSource(Source, Protocol):
    """A source that can return many items at once, without a step for each."""

    def take(self, indices: Indices) -> Item | None:
        """Return the arrays of these items, with one more axis in front; None if they must be fetched one by one.

        It is called from the thread that fetches. A DataError means the same as None: the items are then fetched one by
        one, which shows which of them is bad.
        """
        ...
