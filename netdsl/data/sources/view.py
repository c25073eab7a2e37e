"""Views of sources, with some of their items, other names of classes, or other channels of images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.storage import write_pieces
from caffe_proto.whole_numbers import whole_number
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.files import numbered_lines
from netdsl.data.sources.source import (
    DataSplit,
    Indices,
    Item,
    LabeledSource,
    NamedArrays,
    NamedItems,
    Source,
    StoredColors,
    WholeSource,
)
from netdsl.data.transforms.decode import Color, in_color
from netdsl.data.types import Array
from netdsl.errors import DataError

_TEST_EVERY = 10  # one in this many items is for testing


class SourceView:
    """The items of a source at some indices. Closing the view closes the source."""

    def __init__(self, source: Source, indices: Indices, classes: Sequence[str]) -> None:
        self._source, self._indices = source, indices
        self.classes = classes

    def __len__(self) -> int:
        return len(self._indices)

    @property
    def numbers(self) -> Indices:
        """The numbers of the items in the whole source, which can itself be seen through a view."""
        return numbers_of(self._source)[self._indices]

    def fetch(self, index: int) -> Any:
        """Return one item in its stored form."""
        return self._source.fetch(int(self._indices[index]))

    def item(self, fetched: Any) -> Item:
        """Return the arrays of a fetched item."""
        return self._source.item(fetched)

    @property
    def array_names(self) -> Sequence[str]:
        """The names of an item's arrays. The sequence is empty if the source has none."""
        return self._source.array_names if isinstance(self._source, NamedArrays) else ()

    def name(self, index: int) -> str:
        """Return the item's name in the source. The result is empty if it has none."""
        return self._source.name(int(self._indices[index])) if isinstance(self._source, NamedItems) else ""

    def labels(self) -> Array | None:
        """Return the labels of all items, or `None` if the source can't state them."""
        labels = self._source.labels() if isinstance(self._source, LabeledSource) else None
        return None if labels is None else labels[self._indices]

    def close(self) -> None:
        """Close the source."""
        self._source.close()


class _WholeSourceView(SourceView):
    """A view of a source that reads many items at once."""

    def __init__(self, source: WholeSource, indices: Indices, classes: Sequence[str]) -> None:
        super().__init__(source, indices, classes)
        self._take = source.take

    def take(self, indices: Indices) -> Item | None:
        """Return the arrays of many items."""
        return self._take(self._indices[indices])


class ColorView(SourceView):
    """All items of a source. If the first array is an image, it has the channels of a color."""

    def __init__(self, source: Source, color: Color) -> None:
        super().__init__(source, np.arange(len(source)), classes_of(source))
        self._color = color
        self._rgb = isinstance(source, StoredColors) and source.stored_rgb

    def item(self, fetched: Any) -> Item:
        """Return the arrays of a fetched item."""
        image, *others = super().item(fetched)
        return in_color(image, self._color, rgb=self._rgb) if image.ndim == 3 else image, *others


def numbers_of(source: Source) -> Indices:
    """Return the numbers of a source's items in the whole source, if the source is a view of it."""
    return source.numbers if isinstance(source, SourceView) else np.arange(len(source))


def array_names_of(source: Source, count: int) -> tuple[str, ...]:
    """Return the names of this many arrays of an item: the source's own, or else `data`, `label` and numbers."""
    names = tuple(source.array_names) if isinstance(source, NamedArrays) else ()
    names = names or ("data", "label", *map(str, range(2, count)))
    return names[:count]


def chosen_items(count: int, items: Indices | None, part: DataSplit | None) -> Indices:
    """Return the indices of the items in a part, out of all items or the given ones.

    Items whose number is a multiple of ten are for testing, and the others are for training.
    """
    indices = np.arange(count) if items is None else items
    return indices if part is None else indices[(indices % _TEST_EVERY == 0) == (part is DataSplit.TEST)]


def view_of(
    source: Source, *, items: Indices | None = None, part: DataSplit | None = None, classes: Sequence[str] = ()
) -> SourceView:
    """Return a view of a part of a source. Every tenth item, from the first on, is for testing. The others are for
    training.

    So the parts are the same for every worker at any time. `items` are the numbers of the items that are used, and
    `classes` are names that replace the source's own.
    """
    indices = chosen_items(len(source), items, part)
    classes = classes or classes_of(source)
    if isinstance(source, WholeSource):
        return _WholeSourceView(source, indices, classes)
    return SourceView(source, indices, classes)


def write_items(items: Iterable[int], path: Path) -> None:
    """Write the numbers of items, one on each line."""
    write_pieces(path, ["".join(f"{item}\n" for item in items).encode()])


def read_items(path: Path, count: int) -> Indices:
    """Return the numbers of items in a file. Raises a `DataError` unless all of them are less than `count`."""
    items = []
    for line, text in numbered_lines(path):
        item = whole_number(text.strip(), 0, count - 1)
        if item is None:
            raise DataError(f"{path}:{line}: '{text.strip()[:20]}' isn't the number of an item; use 0 to {count - 1:,}")
        items.append(item)
    return np.array(items, np.int64)
