"""Parquet: tables of numbers, arrays and encoded images, read one group of rows at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from netdsl.data.sources.columns import ColumnSource, check_schema, class_names_of_table, files_of
from netdsl.data.sources.file_errors import file_errors, regular_file
from netdsl.data.transforms.decode import Color
from netdsl.tables.arrow import arrow, arrow_errors, check_rows, open_parquet
from netdsl.tables.binding import BlobColumn
from netdsl.tables.columns import ColumnValues

_KEPT = 1 << 28  # bytes of groups that are kept, so that items out of order don't read one each time


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
