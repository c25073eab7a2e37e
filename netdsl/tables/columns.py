"""Columns of a table as items for a net: all rows at once where that can be, or one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.tables.column_readers import Mask, Shape, reader_of

NOT_AN_ARRAY = "which can't be an array; a column has numbers, arrays of numbers, vectors, images or bytes"


@dataclass(frozen=True)
class RowRange:
    """Rows of a part of a table, such as a file or 'partition 3', from the first on. Errors name them."""

    part: str
    first: int = 0

    def place(self, column: str, row: int) -> str:
        """Where the value of a column is, in words for an error."""
        return f"column '{column}': row {self.first + row} of {self.part}"

    def check(self, column: str, wrong: Array, what: str) -> None:
        """A DataError about the first row for which it is true."""
        if wrong.any():
            raise DataError(f"{self.place(column, int(wrong.argmax()))} {what}")

    def check_shapes(self, column: str, items: Iterable[Array], advice: str) -> None:
        """A DataError about the first of a column's items that has another shape than the first one."""
        shapes = [np.shape(item) for item in items]
        for row, shape in enumerate(shapes):
            if shape != shapes[0]:
                what = f"has shape {list(shape)}, and row {self.first} has {list(shapes[0])}; {advice}"
                raise DataError(f"{self.place(column, row)} {what}")


class ColumnValues:
    """The values of a column in some rows: of an Arrow batch, a group of Parquet's, or a part of either.

    A column has numbers, lists of them (nested ones too), Arrow's tensors, vectors of pyspark.ml, Spark's images, or
    bytes, which may be in a struct as Hugging Face's data sets have them. Bytes are an item's values if the shape of
    items is known and there are as many, else image files, which stay as they are.
    """

    def __init__(self, column: Any, name: str, rows: RowRange, shape: Shape | None = None) -> None:
        reader = reader_of(column.type, shape)
        if reader is None:
            raise DataError(f"column '{name}' is of type {column.type}, {NOT_AN_ARRAY}")
        self._column, self._reader, self._name, self._rows, self._shape = column, reader, name, rows, shape

    @cached_property
    def whole(self) -> Array | None:
        """All rows as the table has them; None if only single rows can be had, or would take much less memory."""
        return None if self._reader.grows(self._column) else self._all()

    def row(self, index: int) -> Array | bytes:
        """One row as the table has it, an array or an image file; a DataError if there is none."""
        if self.whole is not None:
            return np.asarray(self.whole[index])
        try:
            return self._reader.row(self._column.slice(index, 1))
        except ValueError as problem:
            raise DataError(f"{self._rows.place(self._name, index)} {problem}") from None

    def items(self) -> Array:
        """All rows in the types that nets take, and in an item's shape if that fits.

        Image files, and rows of different shapes, are an array of objects.
        """
        whole = self._all()
        if whole is not None:
            return as_items(whole, self._shape)
        items = np.empty(len(self._column), object)
        for index in range(len(items)):
            value = self.row(index)
            items[index] = value if isinstance(value, bytes) else as_items(value[None], self._shape)[0]
        return items

    def missing(self) -> Mask:
        """Which rows have no value, or a null in it."""
        return self._reader.missing(self._column)

    def _all(self) -> Array | None:
        try:
            return self._reader.rows(self._column)
        except ValueError:
            return None


def as_items(values: Array, shape: Shape | None = None) -> Array:
    """Rows of values in the types that nets take, and in an item's shape if that fits.

    An array of objects stays as it is.
    """
    if values.dtype == object:
        return values
    return in_net_types(values).reshape(len(values), *fit_shape(values.shape[1:], shape))


def in_net_types(values: Array) -> Array:
    """Rows of values in the types that nets take: bytes of images stay bytes, and all else is float32."""
    return values if values.dtype == np.uint8 and values.ndim > 1 else values.astype(np.float32, copy=False)


def fit_shape(shape: Shape, wanted: Shape | None) -> Shape:
    """The wanted shape if it has the same values in the same order, else a value's own."""
    if wanted is None or math.prod(shape) != math.prod(wanted):
        return shape
    without_ones = [[length for length in lengths if length != 1] for lengths in (shape, wanted)]
    same_order = min(map(len, without_ones)) <= 1 or without_ones[0] == without_ones[1]
    return wanted if same_order else shape
