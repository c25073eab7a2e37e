"""Parquet: tables of numbers, arrays and encoded images, read one group of rows at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from netdsl.data.arrays import as_top
from netdsl.data.arrow import Row, arrow, rows_of
from netdsl.data.decode import Color, decode
from netdsl.data.faults import told
from netdsl.data.source import Array, Item
from netdsl.errors import DataError

_KEPT = 1 << 28  # bytes of groups that are kept, so that items out of order don't read one each time


class Cells(NamedTuple):
    """What the columns have in one row, where images are still encoded."""

    where: str
    values: list[Any]


class ParquetSource:
    """The rows of a file, or of all files in a folder by name; each column is an array of an item.

    A column has numbers, lists of them (nested ones too), tensors of one shape, or encoded images: bytes, or a struct
    with the field `bytes` as Hugging Face's data sets have it.
    """

    def __init__(self, path: str | Path, *, columns: Sequence[str] = (), color: Color = Color.COLOR) -> None:
        self._color, self._files = color, _files(Path(path))
        self._heads = [_head(file) for file in self._files]
        self._columns = list(columns) or self._heads[0].schema.to_arrow_schema().names
        for file, head in zip(self._files, self._heads, strict=True):
            _check(file, head.schema.to_arrow_schema(), self._columns)
        self._groups = [(file, group) for file, head in enumerate(self._heads) for group in range(head.num_row_groups)]
        self._sizes = [self._heads[file].row_group(group).num_rows for file, group in self._groups]
        self._ends = list(accumulate(self._sizes))
        self._kept: OrderedDict[int, tuple[int, list[Row]]] = OrderedDict()

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def fetch(self, index: int) -> Cells:
        """Where an item stands, and what its columns have."""
        group = bisect_right(self._ends, index)
        row = index - self._ends[group] + self._sizes[group]
        where = f"{self._files[self._groups[group][0]]}: item {index}"
        return Cells(where, [self._value(where, name, row, rows) for name, rows in self._rows(group).items()])

    def _value(self, where: str, name: str, row: int, rows: Row) -> Any:
        try:
            value = rows(row)
        except ValueError as problem:
            raise DataError(f"{where}: column '{name}': {problem}") from None
        if value is None:
            raise DataError(f"{where}: column '{name}' is empty there")
        return value

    def _rows(self, group: int) -> dict[str, Row]:
        if group not in self._kept:
            self._kept[group] = self._read(*self._groups[group])
            while len(self._kept) > 1 and sum(size for size, _ in self._kept.values()) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(group)
        return dict(zip(self._columns, self._kept[group][1], strict=True))

    def _read(self, file: int, group: int) -> tuple[int, list[Row]]:
        """How large a group is, and its columns."""
        path = self._files[file]
        with (
            told(path, arrow().ArrowException),
            arrow().parquet.ParquetFile(path, metadata=self._heads[file], memory_map=True) as opened,
        ):
            table = opened.read_row_group(group, columns=self._columns)
        return table.nbytes, [_rows(table.column(name).combine_chunks()) for name in self._columns]

    def item(self, fetched: Cells) -> Item:
        """The arrays of the columns; encoded images are decoded here."""
        return tuple(self._array(fetched.where, value) for value in fetched.values)

    def _array(self, where: str, value: Any) -> Array:
        return decode(value, self._color, where) if isinstance(value, bytes) else as_top(value)

    def close(self) -> None:
        """Let go of what is kept; files are only open while a group is read."""
        self._kept.clear()


def _rows(column: Any) -> Row:
    maker = rows_of(column.type)
    assert maker is not None, "checked when the file was opened"
    return maker(column)


def _files(path: Path) -> list[Path]:
    """All files below a folder, but those that Spark hides."""
    if not path.is_dir():
        return [path]
    found = (file for file in path.rglob("*.parquet") if file.is_file() and not file.name.startswith(("_", ".")))
    files = sorted(found)
    if not files:
        raise DataError(f"{path}: has no .parquet files")
    return files


def _head(path: Path) -> Any:
    with told(path, arrow().ArrowException):
        return arrow().parquet.read_metadata(path)


def _check(path: Path, schema: Any, columns: Sequence[str]) -> None:
    for name in columns:
        if schema.names.count(name) != 1:
            raise DataError(f"{path}: no single column is called '{name}'; there are {', '.join(schema.names)}")
        kind = schema.field(name).type
        if rows_of(kind) is None:
            usable = ", ".join(field.name for field in schema if rows_of(field.type) is not None) or "none"
            raise DataError(
                f"{path}: column '{name}' is of type {kind}, which can't be an array; choose columns out of {usable}"
            )
