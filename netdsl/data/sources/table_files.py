"""Tables in Parquet or Arrow files, read in batches of rows."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from netdsl.data.sources.files import file_errors, regular_file
from netdsl.data.sources.open_source import parse_source
from netdsl.data.sources.source_name import Content
from netdsl.data.sources.tables import files_of
from netdsl.data.tables.arrow import arrow, arrow_errors, check_rows, open_parquet
from netdsl.errors import DataError


class TableFormat(Enum):
    """A kind of source whose items are rows with named columns."""

    PARQUET = "parquet"
    ARROW = "arrow"


def table_of(name: str) -> tuple[TableFormat, str] | None:
    """Return the format and the path in a source's name. Returns `None` if it isn't a table, or is only a part of
    one."""
    source = parse_source(name, Content.ITEMS)
    if source.kind not in [known.value for known in TableFormat] or source.part is not None:
        return None
    if source.query:
        raise DataError(
            f"{name}: this command reads columns by the names of blobs; choose columns with --column BLOB=COLUMN"
        )
    return TableFormat(source.kind), source.path


class TableFiles:
    """A file, or all files in a folder by name. Their columns must be the same."""

    def __init__(self, kind: TableFormat, path: str) -> None:
        self._kind, self._files = kind, files_of(Path(path), f".{kind.value}")
        with file_errors(self._files[0], *arrow_errors()), self._open(self._files[0]) as first:
            self.schema = first.schema if kind is TableFormat.ARROW else first.schema_arrow
            list(self.schema.names)  # raises an error here for a name that isn't UTF-8

    def _open(self, path: Path) -> Any:
        with file_errors(path, *arrow_errors()):
            if self._kind is TableFormat.PARQUET:
                return open_parquet(regular_file(path))
            return arrow().ipc.open_file(arrow().memory_map(str(regular_file(path))))

    def __len__(self) -> int:
        return sum(self._rows(path) for path in self._files)

    def _rows(self, path: Path) -> int:
        with self._open(path) as file, file_errors(path, *arrow_errors()):
            if self._kind is TableFormat.PARQUET:
                return int(file.metadata.num_rows)
            return sum(file.get_batch(index).num_rows for index in range(file.num_record_batches))

    def first(self) -> Any:
        """Return a batch with the first row, or without rows if there is none."""
        return next((batch for batch in self.batches(1) if batch.num_rows), None) or self.none()

    def none(self) -> Any:
        """Return a batch without rows."""
        columns = [arrow().nulls(0, field.type) for field in self.schema]
        return arrow().RecordBatch.from_arrays(columns, schema=self.schema)

    def batches(self, size: int) -> Iterator[Any]:
        """Yield all rows in batches. Parquet batches have at most `size` rows."""
        for path in self._files:
            with self._open(path) as file:
                batches = self._read(path, file, size)
                while True:
                    with file_errors(path, *arrow_errors()):  # doesn't cover the caller's own code
                        batch = next(batches, None)
                    if batch is None:
                        break
                    yield batch

    def _read(self, path: Path, file: Any, size: int) -> Iterator[Any]:
        schema = file.schema if self._kind is TableFormat.ARROW else file.schema_arrow
        if not schema.equals(self.schema):
            raise DataError(
                f"{path}: its columns differ from those of {self._files[0]}; give all files of a table the same columns"
            )
        if self._kind is TableFormat.PARQUET:
            yield from map(check_rows, file.iter_batches(batch_size=size))
        else:
            yield from (check_rows(file.get_batch(index)) for index in range(file.num_record_batches))
