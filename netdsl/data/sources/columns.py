"""Tables of Arrow's columns, whose rows lie in parts that follow each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from netdsl.data.sources.arrays import as_top
from netdsl.data.sources.class_names import class_names_in
from netdsl.data.sources.gather import gather_rows
from netdsl.data.sources.source import Indices, Item
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.tables.binding import BlobColumn
from netdsl.tables.class_labels import class_names_of
from netdsl.tables.column_readers import reader_of
from netdsl.tables.columns import NOT_AN_ARRAY, ColumnValues, RowRange, in_net_types


class Cells(NamedTuple):
    """The values of one row, where image files are still encoded, and the row's place in a part of the table."""

    values: list[Array | bytes]
    rows: RowRange
    row: int


class ColumnSource(ABC):
    """Rows with a value in each of the named columns.

    The parts are the file and the number of rows of each. `blobs` are what the columns are for, in their order, as far
    as that is known; a column without a blob has its images decoded to `color`.
    """

    def __init__(
        self, names: Sequence[str], parts: Iterable[tuple[Path, int]], color: Color, blobs: Sequence[BlobColumn]
    ) -> None:
        bound = [replace(blob, column=name) for blob, name in zip(blobs, names, strict=False)]
        self._blobs = [*bound, *(BlobColumn(name, name, color=color) for name in names[len(bound) :])]
        self._rows, self._sizes, rows_of_files = list[RowRange](), list[int](), Counter[Path]()
        for path, size in parts:
            self._rows.append(RowRange(str(path), rows_of_files[path]))
            self._sizes.append(size)
            rows_of_files[path] += size
        self._ends = np.cumsum(self._sizes, dtype=np.int64)
        self._damaged: dict[int, str] = {}  # parts that can't be read, and why: to read one again takes long

    @abstractmethod
    def columns(self, part: int) -> list[ColumnValues]:
        """The values of the named columns in a part."""

    def _readable_columns(self, part: int) -> list[ColumnValues]:
        """The values of a part, or the same DataError as the first time."""
        if part in self._damaged:
            raise DataError(self._damaged[part])
        try:
            return self.columns(part)
        except DataError as problem:
            self._damaged[part] = str(problem)
            raise

    @abstractmethod
    def with_column(self, name: str) -> ColumnSource:
        """The same rows with one column only."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is kept."""

    def labels(self) -> Array | None:
        """The numbers in the second column, of which nothing else is read; None if it hasn't one for each row."""
        if len(self._blobs) < 2:
            return None
        with closing(self.with_column(self._blobs[1].column)) as column:
            parts = [column._readable_columns(part)[0].whole for part in range(len(self._sizes))]
        numbers = [part for part in parts if part is not None and part.ndim == 1]
        return np.concatenate(numbers) if len(numbers) == len(parts) else None

    def _values(self, part: int, columns: Iterable[Any]) -> list[ColumnValues]:
        """The values of Arrow's columns, which are the named ones in a part."""
        pairs = zip(self._blobs, columns, strict=True)
        return [ColumnValues(column, blob.column, self._rows[part], blob.shape) for blob, column in pairs]

    @property
    def array_names(self) -> list[str]:
        """The names of the columns."""
        return [blob.column for blob in self._blobs]

    def __len__(self) -> int:
        return sum(self._sizes)

    def fetch(self, index: int) -> Cells:
        """The values of an item."""
        part = int(np.searchsorted(self._ends, index, side="right"))
        row = index - int(self._ends[part]) + self._sizes[part]
        return Cells([values.row(row) for values in self._readable_columns(part)], self._rows[part], row)

    def item(self, fetched: Cells) -> Item:
        """The arrays of the columns; image files are decoded here."""
        return tuple(
            decode(value, blob.color, fetched.rows.place(blob.column, fetched.row))
            if isinstance(value, bytes)
            else as_top(value)
            for blob, value in zip(self._blobs, fetched.values, strict=True)
        )

    def take(self, indices: Indices) -> Item | None:
        """Many rows at once, if none is incomplete and all are of one shape."""
        arrays = gather_rows(indices, self._ends, self._arrays)
        return None if arrays is None else tuple([in_net_types(array) for array in arrays])

    def _arrays(self, part: int) -> list[Array] | None:
        arrays = [array for values in self._readable_columns(part) if (array := values.whole) is not None]
        return arrays if len(arrays) == len(self._blobs) else None


def class_names_of_table(path: Path, schema: Any, columns: Sequence[str]) -> tuple[str, ...]:
    """The names of the classes in one of these columns, from its metadata or from the table's folder."""
    return class_names_of(schema, columns) or (class_names_in(path) if path.is_dir() else ())


def files_of(path: Path, ending: str) -> list[Path]:
    """A file itself, or all files below a folder, but those that Spark hides."""
    if not path.is_dir():
        return [path]
    visible = (file for file in path.rglob(f"*{ending}") if file.is_file() and not file.name.startswith(("_", ".")))
    files = sorted(visible)
    if not files:
        raise DataError(f"{path}: has no {ending} files")
    return files


def check_schema(path: Path, schema: Any, names: Sequence[str]) -> None:
    """A DataError unless a file has these columns, of types that can be read."""
    for name in names:
        if schema.names.count(name) != 1:
            raise DataError(f"{path}: no single column is called '{name}'; there are {', '.join(schema.names)}")
        kind = schema.field(name).type
        if reader_of(kind, None) is None:
            usable = ", ".join(field.name for field in schema if reader_of(field.type, None) is not None) or "none"
            what = f"column '{name}' is of type {kind}, {NOT_AN_ARRAY}"
            raise DataError(f"{path}: {what}; choose columns out of {usable}")
