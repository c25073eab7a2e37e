"""Reads Parquet and Arrow tables as sources. A row has a value in each of the named columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

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

_KEPT = 1 << 28  # bytes of row groups that are cached, for items that are read out of order


class Cells(NamedTuple):
    """The values of one row, and its place in a part of the table. Image files are still encoded."""

    values: list[Array | bytes]
    rows: RowRange
    row: int


class TableParts(NamedTuple):
    """A file's schema, the parts from which its rows are read, and the number of rows in each part."""

    schema: Any
    parts: Sequence[Any]
    sizes: Sequence[int]


class ColumnSource(ABC):
    """The rows of a file, or of all files in a folder by name, with a value in each of the named columns.

    The default is all columns. `blobs` are the blobs that the columns fill, in their order, as far as they are known.
    For columns without a blob, images are decoded to `color`.
    """

    ending: ClassVar[str]  # the suffix of the files in a folder

    def __init__(
        self,
        path: str | Path,
        *,
        columns: Sequence[str] = (),
        color: Color = Color.COLOR,
        blobs: Sequence[BlobColumn] = (),
    ) -> None:
        self._path = Path(path)
        opened = {file: self._open(file) for file in files_of(self._path, self.ending)}
        names, self._schema = list(columns), next(iter(opened.values())).schema
        for file, each in opened.items():
            with file_errors(file, *arrow_errors()):
                names = names or each.schema.names
                check_schema(file, each.schema, names)
        bound = [replace(blob, column=name) for blob, name in zip(blobs, names, strict=False)]
        self._blobs = [*bound, *(BlobColumn(name, name, color=color) for name in names[len(bound) :])]
        self._parts = [(file, part) for file, each in opened.items() for part in each.parts]
        self._sizes = [size for each in opened.values() for size in each.sizes]
        self._rows, rows_of_files = list[RowRange](), Counter[Path]()
        for (file, _), size in zip(self._parts, self._sizes, strict=True):
            self._rows.append(RowRange(str(file), rows_of_files[file]))
            rows_of_files[file] += size
        self._ends = np.cumsum(self._sizes, dtype=np.int64)
        self._kept: OrderedDict[int, tuple[int, list[ColumnValues]]] = OrderedDict()
        self._damaged: dict[int, str] = {}  # cached errors of unreadable parts, because reading them again takes long

    @abstractmethod
    def _open(self, path: Path) -> TableParts:
        """Return the schema and the parts of a file."""

    @abstractmethod
    def _read(self, path: Path, part: Any) -> tuple[int, Iterable[Any]]:
        """Return the memory, in bytes, that a part's rows need, and their named columns."""

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes. The sequence is empty if neither the table nor its folder states them."""
        return class_names_of_table(self._path, self._schema, self.array_names)

    def with_column(self, name: str) -> ColumnSource:
        """Return the same rows with a single column."""
        return type(self)(self._path, columns=[name])

    def columns(self, part: int) -> list[ColumnValues]:
        """Return the values of the named columns in a part. They are cached."""
        if part not in self._kept:
            path, rows = self._parts[part]
            with file_errors(path, *arrow_errors()):
                size, columns = self._read(path, rows)
                self._kept[part] = size, self._values(part, columns)
            while size and len(self._kept) > 1 and sum(kept for kept, _ in self._kept.values()) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(part)
        return self._kept[part][1]

    def _readable_columns(self, part: int) -> list[ColumnValues]:
        """Return the values of a part. Raises the same `DataError` each time if it is damaged."""
        if part in self._damaged:
            raise DataError(self._damaged[part])
        try:
            return self.columns(part)
        except DataError as problem:
            self._damaged[part] = str(problem)
            raise

    def close(self) -> None:
        """Release the files. Mapped files are closed with their last view."""
        self._kept.clear()
        self._parts.clear()

    def labels(self) -> Array | None:
        """Return the numbers in the second column, without reading other columns.

        Returns `None` if the column doesn't have one number for each row.
        """
        if len(self._blobs) < 2:
            return None
        with closing(self.with_column(self._blobs[1].column)) as column:
            parts = [column._readable_columns(part)[0].whole for part in range(len(self._sizes))]
        numbers = [part for part in parts if part is not None and part.ndim == 1]
        return np.concatenate(numbers) if len(numbers) == len(parts) else None

    def _values(self, part: int, columns: Iterable[Any]) -> list[ColumnValues]:
        """Return the values of Arrow's columns, which are the named columns in a part."""
        pairs = zip(self._blobs, columns, strict=True)
        return [ColumnValues(column, blob.column, self._rows[part], blob.shape) for blob, column in pairs]

    @property
    def array_names(self) -> list[str]:
        """The names of the columns."""
        return [blob.column for blob in self._blobs]

    def __len__(self) -> int:
        return sum(self._sizes)

    def fetch(self, index: int) -> Cells:
        """Return the values of an item."""
        part = int(np.searchsorted(self._ends, index, side="right"))
        row = index - int(self._ends[part]) + self._sizes[part]
        return Cells([values.row(row) for values in self._readable_columns(part)], self._rows[part], row)

    def item(self, fetched: Cells) -> Item:
        """Return the arrays of the columns. Image files are decoded here."""
        return tuple(
            decode(value, blob.color, fetched.rows.place(blob.column, fetched.row))
            if isinstance(value, bytes)
            else as_top(value)
            for blob, value in zip(self._blobs, fetched.values, strict=True)
        )

    def take(self, indices: Indices) -> Item | None:
        """Return many rows at once, or `None` if one is incomplete or their shapes differ."""
        arrays = gather_rows(indices, self._ends, self._arrays)
        return None if arrays is None else tuple([in_net_types(array) for array in arrays])

    def _arrays(self, part: int) -> list[Array] | None:
        arrays = [array for values in self._readable_columns(part) if (array := values.whole) is not None]
        return arrays if len(arrays) == len(self._blobs) else None


def class_names_of_table(path: Path, schema: Any, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the classes for one of these columns, from its metadata or from the table's folder."""
    return class_names_of(schema, columns) or (class_names_in(path) if path.is_dir() else ())


def files_of(path: Path, ending: str) -> list[Path]:
    """Return a file itself, or all files below a folder except those that Spark hides."""
    if not path.is_dir():
        return [path]
    visible = (file for file in path.rglob(f"*{ending}") if file.is_file() and not file.name.startswith(("_", ".")))
    files = sorted(visible)
    if not files:
        raise DataError(f"{path}: the folder has no {ending} files; name the folder that contains them")
    return files


def check_schema(path: Path, schema: Any, names: Sequence[str]) -> None:
    """Raise a `DataError` unless a file has these columns, with types that can be read."""
    for name in names:
        if schema.names.count(name) != 1:
            raise DataError(f"{path}: there isn't exactly one column '{name}'; choose from {', '.join(schema.names)}")
        kind = schema.field(name).type
        if reader_of(kind, None) is None:
            usable = ", ".join(field.name for field in schema if reader_of(field.type, None) is not None) or "none"
            what = f"column '{name}' is of type {kind}, {NOT_AN_ARRAY}"
            raise DataError(f"{path}: {what}; choose from {usable}")


class ParquetSource(ColumnSource):
    """The rows of Parquet files, whose columns are read by `ColumnValues`. A part is a row group and its file's
    metadata.

    A file is only open while a group is read.
    """

    ending = ".parquet"

    def _open(self, path: Path) -> TableParts:
        with file_errors(path, *arrow_errors()):
            head = arrow().parquet.read_metadata(regular_file(path))
            groups = range(head.num_row_groups)
            sizes = [head.row_group(group).num_rows for group in groups]
            return TableParts(head.schema.to_arrow_schema(), [(head, group) for group in groups], sizes)

    def _read(self, path: Path, part: Any) -> tuple[int, Iterable[Any]]:
        head, group = part
        with open_parquet(path, head) as opened:
            rows = check_rows(opened.read_row_group(group, columns=self.array_names))
        return rows.nbytes, (rows.column(name).combine_chunks() for name in self.array_names)


class ArrowSource(ColumnSource):
    """The rows of Arrow files, whose columns are read by `ColumnValues`. A part is a batch in a file.

    Files are in Arrow's file format, not its stream format, and are mapped into memory. Compressed files are kept in
    memory instead.
    """

    ending = ".arrow"

    def _open(self, path: Path) -> TableParts:
        with file_errors(path, *arrow_errors()), arrow().memory_map(str(regular_file(path))) as file:
            opened = arrow().ipc.open_file(file)
            batches = [opened.get_batch(index) for index in range(opened.num_record_batches)]
            return TableParts(opened.schema, batches, [batch.num_rows for batch in batches])

    def _read(self, path: Path, part: Any) -> tuple[int, Iterable[Any]]:
        return 0, check_rows(part.select(self.array_names)).columns  # views of the file
