"""The rows of a DataFrame or an RDD in a folder that all machines share: each task writes its partition there."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import numpy as np
from pyspark import RDD, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from caffe_proto.errors import CaffeError, FileError
from caffe_proto.storage import atomic_path
from netdsl.data.tables.arrow import arrow, column_of
from netdsl.data.tables.columns import ColumnValues, Mask, RowRange, as_items, reader_of
from netdsl.data.tables.table import Arrays, BlobColumn, arrays_of, check_columns
from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.prediction.invalid_rows import InvalidRows, check_inputs, finite_rows, without_missing
from netdsl.prediction.net_inputs import Preprocess, apply_preprocess

FIELDS = "partition bigint, file string, rows bigint, columns string, skipped bigint, problem string"  # for Spark

_BATCH = 512  # elements of an RDD
BINDINGS = "bindings={{'{}': ...}}"  # how a user names another column
_DONE = "_DONE"  # the file that exists when all rows do
_WRITING = ".writing"  # the folder that tasks write to; abandoned ones may go on doing so


@dataclass(frozen=True)
class StoredTable:
    """A stored table: its name as a source, the number of its rows, and of those that were left out."""

    source: str
    rows: int
    skipped: int = 0


def store_rows(
    data: DataFrame | RDD[Any],
    folder: Path,
    blobs: Sequence[BlobColumn],
    preprocess: Preprocess | None = None,
    invalid: InvalidRows = InvalidRows.ERROR,
) -> StoredTable:
    """Write the columns of some blobs into a folder, in one job; a table that is complete there already is kept.

    `preprocess` gets batches of rows, as arrays by the names of blobs, and the arrays that it returns are written. Rows
    with values that are null or not finite are an error, or else left out.
    """
    done = folder / _DONE
    if not done.exists():
        with _new_folder(folder) as writing:
            parts = _write_partitions(data, PartitionWriter(str(writing), tuple(blobs), preprocess, invalid))
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
    """Make a folder anew, with another one in it to write to; both are removed on an error."""
    writing = folder / _WRITING
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
        raise FileError(f"{why}; data go to a folder that all machines share and can write to") from None


def _write_partitions(data: DataFrame | RDD[Any], writer: PartitionWriter) -> list[StoredPartition]:
    """Run a job whose tasks write the partitions."""
    if not isinstance(data, DataFrame):
        return data.mapPartitions(writer.write_elements).collect()
    check_columns(data.columns, writer.blobs, BINDINGS)
    selected = data.select(*(col(f"`{column}`") for column in dict.fromkeys(blob.column for blob in writer.blobs)))
    return [StoredPartition(**row.asDict()) for row in selected.mapInArrow(writer.write_frame, FIELDS).collect()]


def _check_partitions(parts: Sequence[StoredPartition]) -> None:
    """Raise a DataError for the problems of tasks, or if partitions don't fit together."""
    problems = [part.problem for part in parts if part.problem]
    if problems:
        more = f" (and {len(problems) - 1} more partitions with problems)" if len(problems) > 1 else ""
        raise DataError(f"{problems[0]}{more}")
    filled = [part for part in parts if part.rows]
    if not filled and any(part.skipped for part in parts):
        raise DataError("all rows have a value that is null or not finite, so there is nothing to learn or to test")
    if not filled:
        raise DataError("there are no rows to learn from or to test on; look at what the query gives")
    for part in filled:
        if part.columns != filled[0].columns:
            raise DataError(
                f"partition {filled[0].partition} has {filled[0].columns}, and partition {part.partition} has "
                f"{part.columns}; all rows must have values of one kind and shape"
            )


@dataclass(frozen=True)
class StoredPartition:
    """The result of a task: a file, if its partition has rows; or a problem."""

    partition: int
    file: str = ""
    rows: int = 0
    columns: str = ""  # names and types, which must be the same in all partitions
    skipped: int = 0  # rows that were left out
    problem: str = ""


class RowBatch(NamedTuple):
    """Rows of a partition as arrays by blobs, Arrow's columns of those that are images, and how many were left out."""

    arrays: Arrays
    rows: RowRange
    images: dict[str, Any]
    skipped: int = 0


@dataclass(frozen=True)
class PartitionWriter:
    """The settings of tasks that write: the folder, the blobs that columns are for, and a user's function for rows.

    Rows with values that are null or not finite are an error, or else left out, since nothing is learned from them.
    Every attempt of a task writes a file of its own; the driver decides which of them count.
    """

    folder: str
    blobs: tuple[BlobColumn, ...]
    preprocess: Preprocess | None = None
    invalid: InvalidRows = InvalidRows.ERROR

    def write_frame(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Write a partition of a DataFrame that has the blobs' columns."""
        yield arrow().RecordBatch.from_pylist([asdict(self._write_partition(self._batches_of_frame(batches)))])

    def write_elements(self, elements: Iterable[Any]) -> Iterator[StoredPartition]:
        """Write a partition of an RDD."""
        yield self._write_partition(
            element_batches(elements, self.blobs, f"partition {_partition_number()}", self.invalid)
        )

    def _batches_of_frame(self, batches: Iterable[Any]) -> Iterator[RowBatch]:
        rows = RowRange(f"partition {_partition_number()}")
        for batch in batches:
            with_values, missing = without_missing(batch, self.blobs, self.invalid)
            if with_values.num_rows:
                # All blobs are read, so that wrong rows are an error now, not in training.
                arrays = arrays_of(with_values, self.blobs, rows)
                yield _some_rows(RowBatch(arrays, rows, self._image_columns(with_values)), ~missing)
            else:
                yield RowBatch({}, rows, {}, skipped=len(missing))
            rows = RowRange(rows.part, rows.first + batch.num_rows)

    def _image_columns(self, batch: Any) -> dict[str, Any]:
        columns = {blob.name: batch.column(blob.column) for blob in self.blobs}
        return {name: column for name, column in columns.items() if _holds_images(column)}

    def _preprocessed(self, batch: RowBatch) -> RowBatch:
        """The rows after the user's function, which replaces images too, and without those that aren't finite."""
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
        """Rows to write: arrays become tensors, and columns of images, whose sizes may differ, stay as they are."""
        columns = [
            batch.images[blob.name] if blob.name in batch.images else column_of(batch.arrays[blob.name])
            for blob in self.blobs
        ]
        return arrow().RecordBatch.from_arrays(columns, names=[blob.name for blob in self.blobs])

    def _write_partition(self, batches: Iterator[RowBatch]) -> StoredPartition:
        """Write a file. A problem with the data is returned, not raised, since Spark would try the same again."""
        partition = _partition_number()
        try:
            skipped = list[int]()
            written = self._write_file(partition, self._tables(batches, skipped))
            return replace(written, skipped=sum(skipped))
        except CaffeError as problem:
            return StoredPartition(partition, problem=str(problem))
        except OSError as problem:
            why = f"{self.folder} can't be written to on {socket.gethostname()}: {problem.strerror or problem}"
            return StoredPartition(partition, problem=f"{why}; data go to a folder that all machines share")

    def _tables(self, batches: Iterator[RowBatch], skipped: list[int]) -> Iterator[Any]:
        """The tables of batches that have rows; how many were left out is added to a list."""
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
                        f"partition {partition} has {_columns_text(first.schema)}, and then "
                        f"{_columns_text(table.schema)}; all rows must have values of one kind and shape"
                    )
                file.write_batch(table)
                rows += table.num_rows
        return StoredPartition(partition, path.name, rows, _columns_text(first.schema))


def _some_rows(batch: RowBatch, chosen: Mask) -> RowBatch:
    """Some rows of a batch; the others are counted."""
    if chosen.all():
        return batch
    arrays = {name: values[chosen] for name, values in batch.arrays.items()}
    images = {name: column.filter(arrow().array(chosen)) for name, column in batch.images.items()}
    return RowBatch(arrays, batch.rows, images, batch.skipped + int((~chosen).sum()))


def element_batches(
    elements: Iterable[Any], blobs: Sequence[BlobColumn], part: str, invalid: InvalidRows = InvalidRows.ERROR
) -> Iterator[RowBatch]:
    """The elements of a part of an RDD in batches, with or without those that have a value that is None.

    An element is a row or a dict, with values by name; a tuple, with values in the order of the blobs; or the value of
    the only blob.
    """
    remaining, rows = iter(elements), RowRange(part)
    while batch := list(islice(remaining, _BATCH)):
        values = [_element_values(element, blobs) for element in batch]
        if invalid is not InvalidRows.ERROR:
            values = [row for row in values if all(value is not None for value in row)]
        arrays, images = dict[str, Array](), dict[str, Any]()
        for blob, column in zip(blobs, zip(*values, strict=True), strict=False):
            arrays[blob.name], image_column = _blob_values(column, blob, rows)
            images |= {} if image_column is None else {blob.name: image_column}
        yield RowBatch(arrays, rows, images, len(batch) - len(values))
        rows = RowRange(part, rows.first + len(batch))


def _element_values(element: Any, blobs: Sequence[BlobColumn]) -> list[Any]:
    named = element.asDict() if hasattr(element, "asDict") else element
    if isinstance(named, Mapping):
        missing = [blob.column for blob in blobs if blob.column not in named]
        if missing:
            raise DataError(f"an element of the RDD has no '{missing[0]}'; it has {', '.join(map(str, named))}")
        return [named[blob.column] for blob in blobs]
    values = list(element) if isinstance(element, tuple) else [element]
    if len(values) != len(blobs):
        names = ", ".join(blob.name for blob in blobs)
        raise DataError(f"an element of the RDD has {len(values)} values; wanted are {names}")
    return values


def _blob_values(values: Sequence[Any], blob: BlobColumn, rows: RowRange) -> tuple[Array, Any | None]:
    """The values of a blob: arrays, values that become arrays, or others that Arrow has columns for.

    The column is returned too if it has images, whose sizes may differ.
    """
    rows.check(blob.column, np.array([value is None for value in values]), "is None; drop such elements, or fill them")
    values = [value.asDict() if hasattr(value, "asDict") else value for value in values]
    if isinstance(values[0], (bytes, bytearray, Decimal, Mapping)):
        column = _arrow_column(values, blob.column, rows)
        items = ColumnValues(column, blob.column, rows, blob.shape).items()
        return items, column if _holds_images(column) else None
    arrays = [np.asarray(value.toArray() if hasattr(value, "toArray") else value) for value in values]
    rows.check(blob.column, np.array([array.dtype.kind not in "biuf" for array in arrays]), "has no numbers")
    rows.check_shapes(blob.column, arrays, "all must have one shape")
    return as_items(np.stack(arrays), blob.shape), None


def _holds_images(column: Any) -> bool:
    reader = reader_of(column.type, None)
    return reader is not None and reader.holds_images


def _arrow_column(values: Sequence[Any], column: str, rows: RowRange) -> Any:
    try:
        return arrow().array(values)
    except arrow().ArrowException as problem:
        place = rows.place(column, 0)
        raise DataError(f"{place} or one after it has a value of another type: {problem}") from None


def _check_values(array: Array, column: str, rows: RowRange) -> None:
    """Raise a DataError unless the rows of an array have one shape, or are image files."""
    if array.dtype == object and not all(isinstance(value, bytes) for value in array):
        rows.check_shapes(column, array, "bring all to one, or keep images encoded")
        raise DataError(f"{rows.place(column, 0)} is neither an array of numbers nor the bytes of an image")


def _partition_number() -> int:
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _columns_text(schema: Any) -> str:
    return ", ".join(f"'{field.name}' of type {_type_words(field.type)}" for field in schema)


def _type_words(kind: Any) -> str:
    """The type of a column, with the shape if it has arrays."""
    shape = "x".join(map(str, kind.shape)) if hasattr(kind, "shape") else ""
    return f"{kind.value_type} {shape}" if shape else str(kind)
