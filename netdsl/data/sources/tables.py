"""Tables of Parquet and of Arrow as sources: rows with a value in each of the named columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from netdsl.data.sources.arrays import as_top, gather_rows
from netdsl.data.sources.class_names import class_names_in
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.data.sources.source import Indices, Item
from netdsl.data.tables.arrow import arrow, arrow_errors, check_rows, class_names_of, open_parquet
from netdsl.data.tables.columns import NOT_AN_ARRAY, ColumnValues, RowRange, in_net_types, reader_of
from netdsl.data.tables.table import BlobColumn
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.types import Array
from netdsl.errors import DataError

_KEPT = 1 << 28  # bytes of groups that are kept, so that items out of order don't read one each time


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


class ParquetSource(ColumnSource):
    """The rows of a file, or of all files in a folder by name, with columns as `ColumnValues` has them."""

    def __init__(
        self,
        path: str | Path,
        *,
        columns: Sequence[str] = (),
        color: Color = Color.COLOR,
        blobs: Sequence[BlobColumn] = (),
    ) -> None:
        self._path = Path(path)
        self._files = files_of(self._path, ".parquet")
        self._heads = [_head(file) for file in self._files]
        schemas = [_schema(file, head) for file, head in zip(self._files, self._heads, strict=True)]
        names = list(columns) or schemas[0].names
        for file, schema in zip(self._files, schemas, strict=True):
            check_schema(file, schema, names)
        self._groups = [(file, group) for file, head in enumerate(self._heads) for group in range(head.num_row_groups)]
        parts = [(self._files[file], self._heads[file].row_group(group).num_rows) for file, group in self._groups]
        super().__init__(names, parts, color, blobs)
        self._kept: OrderedDict[int, tuple[int, list[ColumnValues]]] = OrderedDict()

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, if the table or its folder has them."""
        schema = _schema(self._files[0], self._heads[0])
        return class_names_of_table(self._path, schema, [blob.column for blob in self._blobs])

    def columns(self, part: int) -> list[ColumnValues]:
        """The values of a group, which are kept for a while."""
        if part not in self._kept:
            file, group = self._groups[part]
            with file_errors(self._files[file], *arrow_errors()):
                table = self._read(file, group)
                columns = [table.column(blob.column).combine_chunks() for blob in self._blobs]
                self._kept[part] = table.nbytes, self._values(part, columns)
            while len(self._kept) > 1 and sum(size for size, _ in self._kept.values()) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(part)
        return self._kept[part][1]

    def _read(self, file: int, group: int) -> Any:
        """A group's rows, with those columns only that are asked for."""
        with open_parquet(self._files[file], self._heads[file]) as opened:
            return check_rows(opened.read_row_group(group, columns=[blob.column for blob in self._blobs]))

    def with_column(self, name: str) -> ParquetSource:
        """The same rows with one column only."""
        return ParquetSource(self._path, columns=[name])

    def close(self) -> None:
        """Let go of what is kept; files are only open while a group is read."""
        self._kept.clear()


def _head(path: Path) -> Any:
    with file_errors(path, *arrow_errors()):
        return arrow().parquet.read_metadata(regular_file(path))


def _schema(path: Path, head: Any) -> Any:
    with file_errors(path, *arrow_errors()):
        return head.schema.to_arrow_schema()


class ArrowSource(ColumnSource):
    """The rows of a file, or of all files in a folder by name, with columns as `ColumnValues` has them.

    Files are mapped into memory. Their format is Arrow's for files, not for streams; one that is compressed is kept in
    memory instead.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        columns: Sequence[str] = (),
        color: Color = Color.COLOR,
        blobs: Sequence[BlobColumn] = (),
    ) -> None:
        self._names: tuple[str, ...] = tuple(columns)
        self._path = Path(path)
        files = files_of(self._path, ".arrow")
        self._parts = [(file, batch) for file in files for batch in self._batches(file)]
        super().__init__(self._names, [(file, batch.num_rows) for file, batch in self._parts], color, blobs)
        self._columns: dict[int, list[ColumnValues]] = {}

    def _batches(self, path: Path) -> list[Any]:
        """What a file has, which may be nothing."""
        with file_errors(path, *arrow_errors()), arrow().memory_map(str(regular_file(path))) as file:
            opened = arrow().ipc.open_file(file)
            self._names = self._names or tuple(opened.schema.names)
            check_schema(path, opened.schema, self._names)
            return [opened.get_batch(index) for index in range(opened.num_record_batches)]

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, if the table or its folder has them."""
        schema = self._parts[0][1].schema
        return class_names_of_table(self._path, schema, [blob.column for blob in self._blobs])

    def columns(self, part: int) -> list[ColumnValues]:
        """Views on the file, whose rows are checked when they are first read."""
        if part not in self._columns:
            path, batch = self._parts[part]
            with file_errors(path, *arrow_errors()):
                rows = check_rows(batch.select([blob.column for blob in self._blobs]))
                self._columns[part] = self._values(part, rows.columns)
        return self._columns[part]

    def with_column(self, name: str) -> ArrowSource:
        """The same rows with one column only."""
        return ArrowSource(self._path, columns=[name])

    def close(self) -> None:
        """Let go of the files, which close with the last view on them."""
        self._columns.clear()
        self._parts.clear()
