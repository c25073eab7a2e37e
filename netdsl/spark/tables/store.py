"""Stores the rows of a DataFrame or an RDD in a folder. Each task writes its partition there, or sends it to the driver
if its machine doesn't see the folder."""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from pyspark import RDD, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from caffe_proto.errors import CaffeError, FileError
from caffe_proto.storage import atomic_path, temporary_folder
from netdsl.data.tables.arrow import arrow, column_of
from netdsl.data.tables.columns import Mask, RowRange
from netdsl.data.tables.table import BlobColumn, arrays_of, check_columns
from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.prediction.invalid_rows import InvalidRows, check_inputs, finite_rows, without_missing
from netdsl.prediction.net_inputs import Preprocess, apply_preprocess
from netdsl.spark.tables.elements import RowBatch, element_batches, holds_images

_log = logging.getLogger(__name__)

FIELDS = (  # for Spark
    "partition bigint, file string, rows bigint, columns string, skipped bigint, problem string, unseen boolean, "
    "contents binary"
)

BINDINGS = "bindings={{'{}': ...}}"  # the way in which a user names another column
RENAMING = "frame.withColumnRenamed(..., '{}')"  # the way in which a user names another column without bindings
_DONE = "_DONE"  # the file that exists once all rows are stored
_WRITING = ".writing-{}"  # a new folder to which tasks write; abandoned tasks may continue to do so
_SENT = 1 << 23  # bytes of a piece that a task sends


@dataclass(frozen=True)
class StoredTable:
    """A stored table: its name as a source, the number of its rows, and the number of rows that were left out."""

    source: str
    rows: int
    skipped: int = 0


def store_rows(
    data: DataFrame | RDD[Any],
    folder: Path,
    blobs: Sequence[BlobColumn],
    preprocess: Preprocess | None = None,
    invalid: InvalidRows = InvalidRows.ERROR,
    hint: str = BINDINGS,
) -> StoredTable:
    """Write the columns of some blobs into a folder, in one job. Keeps a table that is already complete there.

    `preprocess` receives batches of rows as arrays by blob name, and the arrays that it returns are written. `invalid`
    determines whether values that are null or not finite are an error, or their rows are left out. `hint` explains how
    to name another column.
    """
    done = folder / _DONE
    if not done.exists():
        with _new_folder(folder) as writing:
            writer = PartitionWriter(str(writing), tuple(blobs), preprocess, invalid)
            parts = list(_write_partitions(data, writer, hint))
            if any(part.unseen for part in parts):
                _log.info("executors don't see %s, so they send the rows to the driver", folder)
                parts = list(received_parts(_write_partitions(data, replace(writer, sends=True), hint), writing))
            _check_partitions(parts)
            for part in parts:
                if part.rows:
                    (writing / part.file).replace(folder / f"part-{part.partition:05}.arrow")
        with atomic_path(done) as temporary:
            counts = {"rows": sum(part.rows for part in parts), "skipped": sum(part.skipped for part in parts)}
            temporary.write_text(json.dumps(counts))
    return StoredTable(f"arrow:{folder}", **json.loads(done.read_text()))


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Create a new folder, with another one inside to which tasks write. Removes both on an error."""
    writing = folder / _WRITING.format(token_hex(8))
    shutil.rmtree(folder, ignore_errors=True)
    try:
        writing.mkdir(parents=True)
        yield writing
        shutil.rmtree(writing, ignore_errors=True)
    except BaseException as problem:
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(problem, OSError):
            raise
        why = f"{folder}: {problem.strerror or problem}"
        raise FileError(f"{why}; choose a folder that you can write to, or free space there") from None


def _write_partitions(data: DataFrame | RDD[Any], writer: PartitionWriter, hint: str) -> Iterable[StoredPartition]:
    """Run a job whose tasks write the partitions. If they send what they write, there is a job for each partition, so
    that only a few are in the driver's memory."""
    if not isinstance(data, DataFrame):
        written = data.mapPartitions(writer.write_elements)
        return written.toLocalIterator(prefetchPartitions=True) if writer.sends else written.collect()
    check_columns(data.columns, writer.blobs, hint)
    selected = data.select(*(col(f"`{column}`") for column in dict.fromkeys(blob.column for blob in writer.blobs)))
    table = selected.mapInArrow(writer.write_frame, FIELDS)
    rows = table.toLocalIterator(prefetchPartitions=True) if writer.sends else table.collect()
    return (StoredPartition(**row.asDict()) for row in rows)


def received_parts(sent: Iterable[StoredPartition], writing: Path) -> Iterator[StoredPartition]:
    """Write the pieces that tasks sent into a folder, and yield the results of the tasks."""
    for part in sent:
        if part.contents:
            with (writing / part.file).open("ab") as file:
                file.write(part.contents)
        else:
            yield part


def _check_partitions(parts: Sequence[StoredPartition]) -> None:
    """Raise a `DataError` if tasks report problems, or if partitions don't fit together."""
    problems = [part.problem for part in parts if part.problem]
    if problems:
        more = f" (and {len(problems) - 1} more partitions have problems)" if len(problems) > 1 else ""
        raise DataError(f"{problems[0]}{more}")
    filled = [part for part in parts if part.rows]
    if not filled and any(part.skipped for part in parts):
        raise DataError(
            "every row has a value that is null or not finite, so no rows are left to train or test on; fill in "
            "the values, or choose other columns"
        )
    if not filled:
        raise DataError("there are no rows to train or test on; check the number of rows with .count()")
    for part in filled:
        if part.columns != filled[0].columns:
            raise DataError(
                f"partition {filled[0].partition} has {filled[0].columns}, but partition {part.partition} has "
                f"{part.columns}; give all rows values of one type and one shape"
            )


@dataclass(frozen=True)
class StoredPartition:
    """The result of a task: a file if its partition has rows, or a problem."""

    partition: int
    file: str = ""
    rows: int = 0
    columns: str = ""  # names and types, which must be the same in all partitions
    skipped: int = 0  # rows that were left out
    problem: str = ""
    unseen: bool = False  # whether the task's machine doesn't see the folder
    contents: bytes = b""  # the next piece of the file, if the task sends it before its result


@dataclass(frozen=True)
class PartitionWriter:
    """The settings of tasks that write: the folder, the blobs of the columns, and a user's function for rows.

    Values that are null or not finite are an error, or their rows are left out, since nothing can be learned from them.
    Every attempt of a task writes its own file, and the driver selects the valid ones. A task that `sends` writes to a
    temporary folder and sends the file.
    """

    folder: str
    blobs: tuple[BlobColumn, ...]
    preprocess: Preprocess | None = None
    invalid: InvalidRows = InvalidRows.ERROR
    sends: bool = False

    def write_frame(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Write a partition of a DataFrame that has the blobs' columns."""
        for part in self._parts(self._batches_of_frame(batches)):
            yield arrow().RecordBatch.from_pylist([asdict(part)])

    def write_elements(self, elements: Iterable[Any]) -> Iterator[StoredPartition]:
        """Write a partition of an RDD."""
        return self._parts(element_batches(elements, self.blobs, f"partition {_partition_number()}", self.invalid))

    def _parts(self, batches: Iterator[RowBatch]) -> Iterator[StoredPartition]:
        """Write a partition, and yield the result, perhaps after the pieces of its file."""
        if not self.sends:
            seen = os.access(self.folder, os.W_OK)
            yield self._write_partition(batches) if seen else StoredPartition(_partition_number(), unseen=True)
            return
        with temporary_folder(Path(tempfile.gettempdir()), "netdsl-rows") as folder:
            part = replace(self, folder=str(folder))._write_partition(batches)
            if part.rows:
                with Path(folder, part.file).open("rb") as file:
                    while piece := file.read(_SENT):
                        yield StoredPartition(part.partition, part.file, contents=piece)
            yield part

    def _batches_of_frame(self, batches: Iterable[Any]) -> Iterator[RowBatch]:
        rows = RowRange(f"partition {_partition_number()}")
        for batch in batches:
            with_values, missing = without_missing(batch, self.blobs, self.invalid)
            if with_values.num_rows:
                # All blobs are read here, so invalid rows raise an error now and not during training.
                arrays = arrays_of(with_values, self.blobs, rows)
                yield _some_rows(RowBatch(arrays, rows, self._image_columns(with_values)), ~missing)
            else:
                yield RowBatch({}, rows, {}, skipped=len(missing))
            rows = RowRange(rows.part, rows.first + batch.num_rows)

    def _image_columns(self, batch: Any) -> dict[str, Any]:
        columns = {blob.name: batch.column(blob.column) for blob in self.blobs}
        return {name: column for name, column in columns.items() if holds_images(column)}

    def _preprocessed(self, batch: RowBatch) -> RowBatch:
        """Return the rows after the user's function, without rows that aren't finite. The function also replaces
        images."""
        arrays = apply_preprocess(batch.arrays, self.blobs, self.preprocess)
        batch = batch._replace(arrays=arrays, images={} if self.preprocess else batch.images)
        for blob in self.blobs:
            if blob.name not in batch.images:
                _check_values(arrays[blob.name], blob.column, batch.rows)
        if self.invalid is InvalidRows.ERROR:
            check_inputs(arrays, self.blobs, batch.rows)
            return batch
        return _some_rows(batch, np.logical_and.reduce([finite_rows(arrays[blob.name]) for blob in self.blobs]))

    def _table_of(self, batch: RowBatch) -> Any:
        """Return the rows to write. Arrays become tensors, and columns of images, whose sizes may differ, stay as they
        are."""
        columns = [
            batch.images[blob.name] if blob.name in batch.images else column_of(batch.arrays[blob.name])
            for blob in self.blobs
        ]
        return arrow().RecordBatch.from_arrays(columns, names=[blob.name for blob in self.blobs])

    def _write_partition(self, batches: Iterator[RowBatch]) -> StoredPartition:
        """Write a file. Returns a problem with the data instead of raising it, since Spark would retry in vain."""
        partition = _partition_number()
        try:
            skipped = list[int]()
            written = self._write_file(partition, self._tables(batches, skipped))
            return replace(written, skipped=sum(skipped))
        except CaffeError as problem:
            return StoredPartition(partition, problem=str(problem))
        except OSError as problem:
            why = f"{self.folder} can't be written on {socket.gethostname()}: {problem.strerror or problem}"
            return StoredPartition(partition, problem=f"{why}; choose another folder, or free space there")

    def _tables(self, batches: Iterator[RowBatch], skipped: list[int]) -> Iterator[Any]:
        """Yield the tables of batches that have rows. Adds each batch's number of left-out rows to `skipped`."""
        for batch in batches:
            chosen = self._preprocessed(batch) if batch.arrays else batch
            skipped.append(chosen.skipped)
            if any(map(len, chosen.arrays.values())):
                yield self._table_of(chosen)

    def _write_file(self, partition: int, tables: Iterator[Any]) -> StoredPartition:
        first = next(tables, None)
        if first is None:
            return StoredPartition(partition)
        path, rows = Path(self.folder, f"{partition:05}-{token_hex(8)}"), 0
        with arrow().ipc.new_file(str(path), first.schema) as file:
            for table in chain([first], tables):
                if table.schema != first.schema:
                    raise DataError(
                        f"partition {partition} first has {_columns_text(first.schema)}, then "
                        f"{_columns_text(table.schema)}; give all rows values of one type and one shape"
                    )
                file.write_batch(table)
                rows += table.num_rows
        return StoredPartition(partition, path.name, rows, _columns_text(first.schema))


def _some_rows(batch: RowBatch, chosen: Mask) -> RowBatch:
    """Return the chosen rows of a batch, and count the others as skipped."""
    if chosen.all():
        return batch
    arrays = {name: values[chosen] for name, values in batch.arrays.items()}
    images = {name: column.filter(arrow().array(chosen)) for name, column in batch.images.items()}
    return RowBatch(arrays, batch.rows, images, batch.skipped + int((~chosen).sum()))


def _check_values(array: Array, column: str, rows: RowRange) -> None:
    """Raise a `DataError` unless the rows of an array have one shape or are image files."""
    if array.dtype == object and not all(isinstance(value, bytes) for value in array):
        rows.check_shapes(column, array, "convert all to one shape, or keep images encoded")
        raise DataError(
            f"{rows.place(column, 0)} is neither an array of numbers nor the bytes of an image; convert the "
            "column to arrays of floats or to the bytes of image files"
        )


def _partition_number() -> int:
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _columns_text(schema: Any) -> str:
    return ", ".join(f"'{field.name}' of type {_type_words(field.type)}" for field in schema)


def _type_words(kind: Any) -> str:
    """Return the type of a column, with the shape if it contains arrays."""
    shape = "x".join(map(str, kind.shape)) if hasattr(kind, "shape") else ""
    return f"{kind.value_type} {shape}" if shape else str(kind)
