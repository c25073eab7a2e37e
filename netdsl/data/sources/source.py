"""The protocol of a source of items."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from netdsl.data.types import Array

Indices = NDArray[np.int64]
Item = tuple[Array, ...]  # an array for each top, often an image, as channels, height and width in BGR, and a label


class DataSplit(Enum):
    """One of the two parts of a well-known data set."""

    TRAIN = "train"
    TEST = "test"


class Source(Protocol):
    """Items in a fixed order.

    `fetch` does the part that waits for a disk. It is called from one thread, mostly with increasing indices, so that a
    database can move a cursor forward. `item` decodes the fetched value. It only computes, in many threads at once. A
    bad item raises a `DataError` that names it.
    """

    def __len__(self) -> int:
        """Return the number of items."""
        ...

    def fetch(self, index: int) -> Any:
        """Return one item in its stored form."""
        ...

    def item(self, fetched: Any) -> Item:
        """Return the arrays of a fetched item."""
        ...

    def close(self) -> None:
        """Close all files."""
        ...


@runtime_checkable
class EndlessSource(Source, Protocol):
    """A source that draws its items itself, in an endless sequence."""

    @property
    def image_count(self) -> int:
        """The number of images from which items are drawn."""
        ...


def count_of(source: Source) -> int:
    """Return the number of items in a source. For an endless source, return the number of images from which it
    draws."""
    return source.image_count if isinstance(source, EndlessSource) else len(source)


@runtime_checkable
class LabeledSource(Source, Protocol):
    """A source that can state all labels without reading the items."""

    def labels(self) -> Array | None:
        """Return the label of every item, or `None` if items don't have a single number as their label."""
        ...


@runtime_checkable
class StoredColors(Protocol):
    """A source that states the order in which the channels of its images are stored."""

    stored_rgb: bool  # red, green, blue, unlike Caffe's order


@runtime_checkable
class LiveSource(Protocol):
    """A source of live data. Reading it switches a device on, and items that were read can't be read again."""

    live: bool


@runtime_checkable
class NamedItems(Protocol):
    """A source whose items have names."""

    def name(self, index: int) -> str:
        """Return the name of an item. The result is empty if it has none."""
        ...


@runtime_checkable
class NamedArrays(Protocol):
    """A source that names the arrays of its items."""

    @property
    def array_names(self) -> Sequence[str]:
        """The names of an item's arrays, in their order."""
        ...


@runtime_checkable
class WholeSource(Source, Protocol):
    """A source that can return many items in a single step."""

    def take(self, indices: Indices) -> Item | None:
        """Return the arrays of these items, stacked along a new first axis, or `None` if they must be fetched one by
        one.

        It is called from the thread that fetches. A `DataError` has the same effect as `None`: the items are then
        fetched one by one, which finds the bad one.
        """
        ...
