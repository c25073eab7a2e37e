"""Tables in files, Parquet or Arrow's: read in batches of rows, and written as Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any

from caffe_proto.errors import FileError
from caffe_proto.storage import atomic_path
from netdsl.data.sources.columns import files_of
from netdsl.data.sources.file_errors import file_errors
from netdsl.data.sources.open_source import with_split
from netdsl.data.sources.source import DataSplit
from netdsl.errors import DataError
from netdsl.tables.arrow import arrow

_BYTES = 1 << 24  # of a group of rows in Parquet


class TableFormat(Enum):
    """A kind of source whose items are rows with named columns."""

    PARQUET = "parquet"
    ARROW = "arrow"


def table_of(name: str) -> tuple[TableFormat, str] | None:
    """The format and the path of a source's name; None if it's no table."""
    kind, _, rest = with_split(name, DataSplit.TEST).partition(":")
    path, query, _ = rest.partition("?")
    if kind not in [each.value for each in TableFormat]:
        return None
    if query:
        raise DataError(f"{name}: blobs are columns by name here; say which with --column BLOB=COLUMN, not in the name")
    return TableFormat(kind), path


class TableFiles:
    """A file, or all files of a folder by name, whose columns must be the same."""

    def __init__(self, kind: TableFormat, path: str) -> None:
        self._kind, self._files = kind, files_of(Path(path), f".{kind.value}")
        with self._opened(self._files[0]) as first:
            self.schema = first.schema if kind is TableFormat.ARROW else first.schema_arrow

    def _opened(self, path: Path) -> Any:
        with file_errors(path, arrow().ArrowException):
            if self._kind is TableFormat.PARQUET:
                return arrow().parquet.ParquetFile(path, memory_map=True)
            return arrow().ipc.open_file(arrow().memory_map(str(path)))

    def __len__(self) -> int:
        return sum(self._rows(file) for file in self._files)

    def _rows(self, path: Path) -> int:
        with self._opened(path) as opened, file_errors(path, arrow().ArrowException):
            if self._kind is TableFormat.PARQUET:
                return int(opened.metadata.num_rows)
            return sum(opened.get_batch(index).num_rows for index in range(opened.num_record_batches))

    def first(self) -> Any:
        """The first row, if there is one."""
        return next((batch for batch in self.batches(1) if batch.num_rows), self.none())

    def none(self) -> Any:
        """A batch without rows."""
        return arrow().RecordBatch.from_pylist([], schema=self.schema)

    def batches(self, size: int) -> Iterator[Any]:
        """All rows, in Parquet's case no more than so many at once."""
        for path in self._files:
            with self._opened(path) as opened, file_errors(path, arrow().ArrowException):
                yield from self._read(path, opened, size)

    def _read(self, path: Path, opened: Any, size: int) -> Iterator[Any]:
        own = opened.schema if self._kind is TableFormat.ARROW else opened.schema_arrow
        if not own.equals(self.schema):
            raise DataError(f"{path}: has other columns than {self._files[0]}; all files of a table have the same")
        if self._kind is TableFormat.PARQUET:
            yield from opened.iter_batches(batch_size=size)
        else:
            yield from map(opened.get_batch, range(opened.num_record_batches))


def write_parquet(path: Path, batches: Iterator[Any], done: Callable[[int], object]) -> int:
    """Write batches into a new file, whole or not at all; `done` hears of rows. At least one batch says the columns."""
    first, written = next(batches), 0
    with atomic_path(path) as temporary:
        try:
            with arrow().parquet.ParquetWriter(temporary, first.schema) as writer:
                for group in _groups(chain([first], batches)):
                    writer.write_table(group)
                    written += group.num_rows
                    done(group.num_rows)
        except arrow().ArrowException as problem:
            raise FileError(f"{path}: can't be written: {problem}") from None
    return written


def _groups(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of many batches, large enough to be worth a group of rows, and small enough for memory."""
    waiting, size = [], 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size > _BYTES:
            yield arrow().Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield arrow().Table.from_batches(waiting)
