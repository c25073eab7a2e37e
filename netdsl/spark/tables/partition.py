"""One partition of a DataFrame or an RDD, written by its task as a file of Arrow's."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from pyspark import TaskContext

from caffe_proto.errors import CaffeError
from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.prediction.net_inputs import Preprocess, preprocessed
from netdsl.tables.arrow import arrow
from netdsl.tables.binding import Arrays, BlobColumn, arrays_of
from netdsl.tables.column_readers import reader_of
from netdsl.tables.columns import ColumnValues, RowRange, as_items
from netdsl.tables.writing import column_of

FIELDS = "partition bigint, file string, rows bigint, columns string, problem string"  # of a StoredPartition, for Spark

_TOGETHER = 512  # elements of an RDD that are a batch


@dataclass(frozen=True)
class StoredPartition:
    """The result of a task: a file, if its partition has rows; or a problem."""

    partition: int
    file: str = ""
    rows: int = 0
    columns: str = ""  # their names and types, which must be the same in all partitions
    problem: str = ""


@dataclass(frozen=True)
class PartitionWriter:
    """The settings of tasks that write: the folder, the blobs that columns are for, and a user's function for rows.

    Every attempt writes a file of its own; which of them count is for the driver to say.
    """

    folder: str
    blobs: tuple[BlobColumn, ...]
    preprocess: Preprocess | None = None

    def write_frame(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Write a partition of a DataFrame that has the blobs' columns."""
        yield arrow().RecordBatch.from_pylist([asdict(self._write(self._tables_of_frame(batches)))])

    def write_elements(self, elements: Iterable[Any]) -> Iterator[StoredPartition]:
        """Write a partition of an RDD."""
        batches = element_batches(elements, self.blobs, f"partition {_partition()}")
        yield self._write(self._table(arrays, rows, {}) for arrays, rows in batches)

    def _tables_of_frame(self, batches: Iterable[Any]) -> Iterator[Any]:
        rows = RowRange(f"partition {_partition()}")
        for batch in batches:
            if batch.num_rows:
                arrays = arrays_of(batch, self.blobs, rows)  # an error now is better than one when training
                yield self._table(arrays, rows, self._image_columns(batch))
            rows = RowRange(rows.part, rows.first + batch.num_rows)

    def _image_columns(self, batch: Any) -> dict[str, Any]:
        """The columns of images and files by their blobs, unless a user's function makes something else of them."""
        columns = {} if self.preprocess else {blob.name: batch.column(blob.column) for blob in self.blobs}
        readers = {name: reader_of(column.type, None) for name, column in columns.items()}
        return {name: columns[name] for name, reader in readers.items() if reader is not None and reader.holds_images}

    def _table(self, arrays: Arrays, rows: RowRange, images: Mapping[str, Any]) -> Any:
        """Rows to write: arrays become tensors, and columns of images, which may differ in size, stay as they are."""
        arrays = preprocessed(arrays, self.blobs, self.preprocess)
        columns = [
            images[blob.name] if blob.name in images else _tensors(arrays[blob.name], blob.column, rows)
            for blob in self.blobs
        ]
        return arrow().RecordBatch.from_arrays(columns, names=[blob.name for blob in self.blobs])

    def _write(self, tables: Iterator[Any]) -> StoredPartition:
        """Write a file. A problem with the data is returned, not raised, since Spark would try the same again."""
        partition = _partition()
        try:
            return self._write_file(partition, tables)
        except CaffeError as problem:
            return StoredPartition(partition, problem=str(problem))
        except OSError as problem:
            why = f"{self.folder} can't be written to on {socket.gethostname()}: {problem.strerror or problem}"
            return StoredPartition(partition, problem=f"{why}; data go to a folder that all machines share")

    def _write_file(self, partition: int, tables: Iterator[Any]) -> StoredPartition:
        first = next(tables, None)
        if first is None:
            return StoredPartition(partition)
        path, rows = Path(self.folder, f"{partition:05}-{token_hex(8)}"), 0
        with arrow().ipc.new_file(str(path), first.schema) as file:
            for table in chain([first], tables):
                if table.schema != first.schema:
                    raise DataError(
                        f"partition {partition} has {_words(first.schema)}, and then {_words(table.schema)}; all rows "
                        "must have values of one kind and shape"
                    )
                file.write_batch(table)
                rows += table.num_rows
        return StoredPartition(partition, path.name, rows, _words(first.schema))


def element_batches(
    elements: Iterable[Any], blobs: Sequence[BlobColumn], part: str
) -> Iterator[tuple[Arrays, RowRange]]:
    """The elements of a part of an RDD in batches.

    An element is a row or a dict, with values by name; a tuple, with values in the order of the blobs; or the value of
    the only blob.
    """
    remaining, rows = iter(elements), RowRange(part)
    while batch := list(islice(remaining, _TOGETHER)):
        values = zip(*(_element_values(element, blobs) for element in batch), strict=True)
        yield {blob.name: _items(column, blob, rows) for blob, column in zip(blobs, values, strict=True)}, rows
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


def _items(values: Sequence[Any], blob: BlobColumn, rows: RowRange) -> Array:
    """The values of a blob: arrays and what becomes one, or whatever else Arrow has columns of."""
    rows.check(blob.column, np.array([value is None for value in values]), "is None; drop such elements, or fill them")
    values = [value.asDict() if hasattr(value, "asDict") else value for value in values]
    if isinstance(values[0], (bytes, bytearray, Decimal, Mapping)):
        return ColumnValues(_arrow_column(values, blob.column, rows), blob.column, rows, blob.shape).items()
    arrays = [np.asarray(value.toArray() if hasattr(value, "toArray") else value) for value in values]
    rows.check(blob.column, np.array([array.dtype.kind not in "biuf" for array in arrays]), "has no numbers")
    rows.check_shapes(blob.column, arrays, "all must have one shape")
    return as_items(np.stack(arrays), blob.shape)


def _arrow_column(values: Sequence[Any], column: str, rows: RowRange) -> Any:
    try:
        return arrow().array(values)
    except arrow().ArrowException as problem:
        place = rows.place(column, 0)
        raise DataError(f"{place} or one after it has a value of another type: {problem}") from None


def _tensors(array: Array, column: str, rows: RowRange) -> Any:
    """The Arrow column of an array, whose rows must have one shape unless they are image files."""
    if array.dtype == object and not all(isinstance(value, bytes) for value in array):
        rows.check_shapes(column, array, "bring all to one, or keep images encoded")
        raise DataError(f"{rows.place(column, 0)} is neither an array of numbers nor the bytes of an image")
    return column_of(array)


def _partition() -> int:
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _words(schema: Any) -> str:
    return ", ".join(f"'{field.name}' of type {_type_words(field.type)}" for field in schema)


def _type_words(kind: Any) -> str:
    """The type of a column, with the shape if it has arrays."""
    shape = "x".join(map(str, kind.shape)) if hasattr(kind, "shape") else ""
    return f"{kind.value_type} {shape}" if shape else str(kind)
