"""Converts the elements of an RDD to arrays, and adds new values to elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import Row

from netdsl.data.tables.arrow import arrow, column_of
from netdsl.data.tables.columns import ColumnValues, RowRange, as_items, reader_of
from netdsl.data.tables.table import Arrays, BlobColumn
from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.prediction.invalid_rows import InvalidRows

BATCH = 512  # number of elements


class RowBatch(NamedTuple):
    """Rows of a partition: arrays by blob, Arrow columns of blobs with images, and the number of rows that were left
    out."""

    arrays: Arrays
    rows: RowRange
    images: dict[str, Any]
    skipped: int = 0


def element_batches(
    elements: Iterable[Any], blobs: Sequence[BlobColumn], part: str, invalid: InvalidRows = InvalidRows.ERROR
) -> Iterator[RowBatch]:
    """Yield the elements of a part of an RDD in batches. `invalid` determines whether elements with a `None` are kept.

    An element is a row or a dict with values by name, a tuple with values in the order of the blobs, or the value of
    the only blob.
    """
    remaining, rows = iter(elements), RowRange(part)
    while batch := list(islice(remaining, BATCH)):
        values = [_element_values(element, blobs) for element in batch]
        if invalid is not InvalidRows.ERROR:
            values = [row for row in values if all(value is not None for value in row)]
        arrays, images = dict[str, Array](), dict[str, Any]()
        for blob, column in zip(blobs, zip(*values, strict=True), strict=False):
            arrays[blob.name], image_column = _blob_values(column, blob, rows)
            images |= {} if image_column is None else {blob.name: image_column}
        yield RowBatch(arrays, rows, images, len(batch) - len(values))
        rows = RowRange(part, rows.first + len(batch))


def _element_values(element: Any, blobs: Sequence[BlobColumn]) -> list[Any]:
    named = element.asDict() if hasattr(element, "asDict") else element
    if isinstance(named, Mapping):
        missing = [blob.column for blob in blobs if blob.column not in named]
        if missing:
            raise DataError(
                f"an element of the RDD has no '{missing[0]}', only {', '.join(map(str, named))}; bind one of these"
            )
        return [named[blob.column] for blob in blobs]
    values = list(element) if isinstance(element, tuple) else [element]
    if len(values) != len(blobs):
        names = ", ".join(blob.name for blob in blobs)
        raise DataError(f"an element of the RDD has {len(values)} values; give one for each of {names}")
    return values


def _blob_values(values: Sequence[Any], blob: BlobColumn, rows: RowRange) -> tuple[Array, Any | None]:
    """Return the values of a blob as an array, and their Arrow column if they are images, whose sizes may differ."""
    rows.check(blob.column, np.array([value is None for value in values]), "is None; drop these elements, or fill them")
    values = [value.asDict() if hasattr(value, "asDict") else value for value in values]
    if isinstance(values[0], (bytes, bytearray, Decimal, Mapping)):
        column = _arrow_column(values, blob.column, rows)
        items = ColumnValues(column, blob.column, rows, blob.shape).items()
        return items, column if holds_images(column) else None
    arrays = [np.asarray(value.toArray() if hasattr(value, "toArray") else value) for value in values]
    rows.check(blob.column, np.array([array.dtype.kind not in "biuf" for array in arrays]), "isn't numeric")
    rows.check_shapes(blob.column, arrays, "all must have one shape")
    return as_items(np.stack(arrays), blob.shape), None


def holds_images(column: Any) -> bool:
    """Return whether a column contains images, whose sizes may differ."""
    reader = reader_of(column.type, None)
    return reader is not None and reader.holds_images


def _arrow_column(values: Sequence[Any], column: str, rows: RowRange) -> Any:
    try:
        return arrow().array(values)
    except arrow().ArrowException as problem:
        place = rows.place(column, 0)
        raise DataError(
            f"{place} or a later row has a value of another type: {problem}; convert the values to one type, "
            "such as float"
        ) from None


def element_table(
    elements: Sequence[Any], blobs: Sequence[BlobColumn], names: Sequence[str], rows: RowRange, invalid: InvalidRows
) -> Any:
    """Return the values of elements as an Arrow batch with the blobs' columns, and null for an element's `None`.

    `names` are all inputs of the net. A tuple may have values for all of them, even if only some are needed. If rows
    without values are an error, a `None` is an error too.
    """
    values = [_element_values(_needed_part(element, blobs, names), blobs) for element in elements]
    has_values = [invalid is InvalidRows.ERROR or all(value is not None for value in row) for row in values]
    present = [row for row, whole in zip(values, has_values, strict=True) if whole]
    if not present:
        return arrow().RecordBatch.from_arrays([arrow().nulls(len(values))] * len(blobs), [b.column for b in blobs])
    columns = dict[str, Any]()
    for blob, column in zip(blobs, zip(*present, strict=True), strict=True):
        array, images = _blob_values(column, blob, rows)
        columns[blob.column] = column_of(array) if images is None else images
    if len(present) < len(values):
        places = iter(range(len(present)))
        taken = arrow().array([next(places) if whole else None for whole in has_values], arrow().int64())
        columns = {name: column.take(taken) for name, column in columns.items()}
    return arrow().RecordBatch.from_arrays(list(columns.values()), list(columns))


def _needed_part(element: Any, blobs: Sequence[BlobColumn], names: Sequence[str]) -> Any:
    """Return the needed values of a tuple that has values for all inputs. Returns other elements unchanged."""
    if not isinstance(element, tuple) or hasattr(element, "asDict") or len(element) != len(names):
        return element
    return tuple(element[names.index(blob.name)] for blob in blobs)


def with_values(element: Any, names: Sequence[str], values: Sequence[Any]) -> Any:
    """Return an element with new values. A row or a dict receives them by name, and anything else becomes a tuple that
    ends with them."""
    own = element.__fields__ if isinstance(element, Row) and hasattr(element, "__fields__") else element
    if isinstance(element, Mapping) or own is not element:
        for name in names:
            if name in own:
                raise DataError(f"an element of the RDD already has a '{name}'; choose another name for the new column")
    if own is not element:
        return Row(*own, *names)(*element, *values)
    if isinstance(element, Mapping):
        return {**element, **dict(zip(names, values, strict=True))}
    return (*element, *values) if isinstance(element, tuple) else (element, *values)
