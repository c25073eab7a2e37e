"""Parquet: tables of numbers, arrays and encoded images, read one group of rows at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netdsl.data.sources.columns import ColumnSource, check_columns, files_of
from netdsl.data.sources.file_errors import file_errors
from netdsl.data.transforms.decode import Color
from netdsl.tables.arrow import Columns, arrow, columns_of

_KEPT = 1 << 28  # bytes of groups that are kept, so that items out of order don't read one each time


class ParquetSource(ColumnSource):
    """The rows of a file, or of all files in a folder by name; each column is an array of an item.

    A column has numbers, lists of them (nested ones too), tensors of one shape, or images: encoded ones as bytes, or as
    a struct with the field `bytes` as Hugging Face's data sets have it, or pixels as Spark's data source has them.
    """

    def __init__(self, path: str | Path, *, columns: Sequence[str] = (), color: Color = Color.COLOR) -> None:
        self._files = files_of(Path(path), ".parquet")
        self._heads = [_head(file) for file in self._files]
        names = list(columns) or self._heads[0].schema.to_arrow_schema().names
        for file, head in zip(self._files, self._heads, strict=True):
            check_columns(file, head.schema.to_arrow_schema(), names)
        self._groups = [(file, group) for file, head in enumerate(self._heads) for group in range(head.num_row_groups)]
        sizes = [self._heads[file].row_group(group).num_rows for file, group in self._groups]
        super().__init__(names, sizes, color)
        self._kept: OrderedDict[int, tuple[int, Columns]] = OrderedDict()

    def file(self, part: int) -> Path:
        """The file that has a group."""
        return self._files[self._groups[part][0]]

    def columns(self, part: int) -> Columns:
        """What a group has, which is kept for a while."""
        if part not in self._kept:
            self._kept[part] = self._read(*self._groups[part])
            while len(self._kept) > 1 and sum(size for size, _ in self._kept.values()) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(part)
        return self._kept[part][1]

    def _read(self, file: int, group: int) -> tuple[int, Columns]:
        """How large a group is, and its columns."""
        path = self._files[file]
        with (
            file_errors(path, arrow().ArrowException),
            arrow().parquet.ParquetFile(path, metadata=self._heads[file], memory_map=True) as opened,
        ):
            table = opened.read_row_group(group, columns=list(self._names))
        return table.nbytes, columns_of(table.column(name).combine_chunks() for name in self._names)

    def close(self) -> None:
        """Let go of what is kept; files are only open while a group is read."""
        self._kept.clear()


def _head(path: Path) -> Any:
    with file_errors(path, arrow().ArrowException):
        return arrow().parquet.read_metadata(path)
