"""Arrow's own files: tables that are used where they lie on disk, without reading them first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from netdsl.data.sources.columns import ColumnSource, check_schema, class_names_of_table, files_of
from netdsl.data.sources.file_errors import file_errors, regular_file
from netdsl.data.transforms.decode import Color
from netdsl.tables.arrow import arrow, arrow_errors, check_rows
from netdsl.tables.binding import BlobColumn
from netdsl.tables.columns import ColumnValues


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
