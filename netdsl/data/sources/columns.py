"""Tables of Arrow's columns, whose rows lie in parts that follow each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from netdsl.data.sources.arrays import as_top
from netdsl.data.sources.gather import gather_rows
from netdsl.data.sources.source import Indices, Item
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.tables.arrow import Columns, Row, rows_of


class Cells(NamedTuple):
    """What the columns have in one row, where images are still encoded."""

    where: str
    values: list[Any]


class ColumnSource(ABC):
    """Rows with a value in each of the named columns, in parts of these sizes."""

    def __init__(self, names: Sequence[str], sizes: Sequence[int], color: Color) -> None:
        self._names, self._color = tuple(names), color
        self._sizes, self._ends = sizes, np.cumsum(sizes, dtype=np.int64)

    @abstractmethod
    def columns(self, part: int) -> Columns:
        """What the named columns have in a part."""

    @abstractmethod
    def file(self, part: int) -> Path:
        """The file that a part is in."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is kept."""

    def __len__(self) -> int:
        return sum(self._sizes)

    def fetch(self, index: int) -> Cells:
        """Where an item stands, and what its columns have."""
        part = int(np.searchsorted(self._ends, index, side="right"))
        row = index - int(self._ends[part]) + self._sizes[part]
        where = f"{self.file(part)}: item {index}"
        named = zip(self._names, self.columns(part).rows, strict=True)
        return Cells(where, [_value(where, name, rows, row) for name, rows in named])

    def item(self, fetched: Cells) -> Item:
        """The arrays of the columns; encoded images are decoded here."""
        return tuple(self._array(fetched.where, value) for value in fetched.values)

    def _array(self, where: str, value: Any) -> Array:
        return decode(value, self._color, where) if isinstance(value, bytes) else as_top(value)

    def take(self, indices: Indices) -> Item | None:
        """Many rows at once, if none is incomplete and all are of one shape."""
        return gather_rows(indices, self._ends, lambda part: self.columns(part).whole)


def _value(where: str, name: str, rows: Row, row: int) -> Any:
    try:
        value = rows(row)
    except ValueError as problem:
        raise DataError(f"{where}: column '{name}': {problem}") from None
    if value is None:
        raise DataError(f"{where}: column '{name}' is empty there")
    return value


def files_of(path: Path, ending: str) -> list[Path]:
    """A file itself, or all files below a folder, but those that Spark hides."""
    if not path.is_dir():
        return [path]
    found = (file for file in path.rglob(f"*{ending}") if file.is_file() and not file.name.startswith(("_", ".")))
    files = sorted(found)
    if not files:
        raise DataError(f"{path}: has no {ending} files")
    return files


def check_columns(path: Path, schema: Any, names: Sequence[str]) -> None:
    """A DataError unless a file has these columns, of types that can be read."""
    for name in names:
        if schema.names.count(name) != 1:
            raise DataError(f"{path}: no single column is called '{name}'; there are {', '.join(schema.names)}")
        kind = schema.field(name).type
        if rows_of(kind) is None:
            usable = ", ".join(field.name for field in schema if rows_of(field.type) is not None) or "none"
            raise DataError(
                f"{path}: column '{name}' is of type {kind}, which can't be an array; choose columns out of {usable}"
            )
