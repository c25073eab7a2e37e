"""Binds the rows of a table to a net's blobs, in the shapes that its layers state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netdsl.data.batches.reading import Intake, Reading
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.open_source import parse_source
from netdsl.data.sources.source import Indices, Item, Source, WholeSource
from netdsl.data.sources.source_name import Content, SourceName
from netdsl.data.tables.columns import Shape, fit_shape
from netdsl.data.tables.table import BlobColumn, Table
from netdsl.data.transforms.decode import Color
from netdsl.data.transforms.transform import ImageTransform
from netdsl.data.types import Array
from netdsl.errors import DataError


def reading_of(table: Table, intakes: Sequence[Intake]) -> Reading:
    """Return the reading of all tops of these layers from one table, so that the values of a row stay together."""
    name = parse_source(table.source, Content.ITEMS)
    _check_binding(table, name, intakes)
    blobs = [blob for intake in intakes for blob in blob_columns(intake, table.columns)]
    color = Color.GRAY if any(intake.gray for intake in intakes) else Color.AS_STORED
    source = name.open(color=color, blobs=blobs)
    transforms = tuple(transform for intake in intakes for transform in _transforms(intake))
    targets = [_Target(blob, transform) for blob, transform in zip(blobs, transforms, strict=True)]
    rows = (
        _WholeBoundRows(table.source, source, targets)
        if isinstance(source, WholeSource)
        else _BoundRows(table.source, source, targets)
    )
    return Reading(rows, intakes[0].batch_size, transforms, table.shuffle, name=table.source)


def blob_columns(intake: Intake, columns: Mapping[str, str]) -> list[BlobColumn]:
    """Return the blobs that a layer gets from outside, with their columns. The default column has the blob's name."""
    color = Color.GRAY if intake.gray else Color.COLOR
    pairs = zip(intake.tops, intake.shapes, strict=True)
    return [BlobColumn(top, columns.get(top, top), shape, color) for top, shape in pairs]


def _transforms(intake: Intake) -> list[ImageTransform | None]:
    return [intake.transform, *[None] * (len(intake.tops) - 1)]


def _check_binding(table: Table, name: SourceName, intakes: Sequence[Intake]) -> None:
    tops = [top for intake in intakes for top in intake.tops]
    if not intakes:
        raise DataError(
            f"{table.source}: none of the net's blobs come from outside; begin the net with an Input layer for each "
            "column"
        )
    unknown = [blob for blob in table.columns if blob not in tops]
    if unknown:
        raise DataError(f"{table.source}: no blob '{unknown[0]}' comes from outside; choose from {', '.join(tops)}")
    if table.columns and not name.chooses_columns:
        raise DataError(
            f"{table.source}: its arrays fill the blobs {', '.join(tops)} in this order; leave out --column"
        )
    first = intakes[0]
    for intake in intakes:
        if intake.batch_size != first.batch_size or not first.batch_size:
            raise DataError(
                f"'{first.tops[0]}' has batches of {first.batch_size}, and '{intake.tops[0]}' of "
                f"{intake.batch_size}; give all shapes the same first number, which is the number of rows in a "
                "batch"
            )


@dataclass(frozen=True)
class _Target:
    """A blob that gets values from rows, and their transform."""

    blob: BlobColumn
    transform: ImageTransform | None

    def fit(self, shape: Shape) -> Shape:
        """Return the shape that values of some shape get before their transform. Raises a `ValueError` if they don't
        fit."""
        wanted = self.blob.shape
        if wanted is None:
            return shape
        shape = fit_shape(shape, wanted)
        made = self.transform.shape(*shape) if self.transform is not None and len(shape) == 3 else shape
        if made != wanted:
            becomes = "" if made == shape else f", {list(made)} after its transform,"
            raise ValueError(
                f"a value of shape {list(shape)}{becomes} doesn't fit '{self.blob.name}', which needs "
                f"{list(wanted)}; change the layer's shape, the column, or the layer's transform_param"
            )
        return shape


class _BoundRows:
    """The rows of a source, with an array for each blob."""

    def __init__(self, name: str, source: Source, targets: Sequence[_Target]) -> None:
        self._name, self._source, self._targets = name, source, targets

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the source's classes."""
        return classes_of(self._source)

    def __len__(self) -> int:
        return len(self._source)

    def fetch(self, index: int) -> tuple[int, Any]:
        """Return the number of an item, and the stored item."""
        return index, self._source.fetch(index)

    def item(self, fetched: tuple[int, Any]) -> Item:
        """Return the arrays of an item, one for each blob."""
        index, stored = fetched
        arrays = self._source.item(stored)
        if len(arrays) < len(self._targets):
            names = ", ".join(target.blob.name for target in self._targets)
            raise DataError(
                f"{self._name}: an item has {len(arrays)} arrays, too few for {names}; add a column for each of them"
            )
        pairs = zip(self._targets, arrays, strict=False)
        try:
            return tuple(array.reshape(target.fit(array.shape)) for target, array in pairs)
        except ValueError as problem:
            raise DataError(f"{self._name}: item {index}: {problem}") from None

    def close(self) -> None:
        """Close the source."""
        self._source.close()


class _WholeBoundRows(_BoundRows):
    """The rows of a source that reads many rows at once."""

    def __init__(self, name: str, source: WholeSource, targets: Sequence[_Target]) -> None:
        super().__init__(name, source, targets)
        self._take = source.take

    def take(self, indices: Indices) -> Item | None:
        """Return the arrays of many items, or `None` if they don't fit. Reading single items then finds the bad one."""
        arrays = self._take(indices)
        if arrays is None or len(arrays) < len(self._targets):
            return None
        try:
            return tuple(_fit_rows(target, array) for target, array in zip(self._targets, arrays, strict=False))
        except ValueError:
            return None


def _fit_rows(target: _Target, array: Array) -> Array:
    return array.reshape(len(array), *target.fit(array.shape[1:]))
