"""One partition's part of the data, written in its task as a file of Arrow's."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import Any

from pyspark import TaskContext

from caffe_proto.errors import CaffeError
from netdsl.errors import DataError
from netdsl.prediction.blobs import Arrays, BlobColumn, Preprocess, preprocessed
from netdsl.spark.tables.elements import batches_of
from netdsl.tables.arrow import arrow
from netdsl.tables.columns import Rows, array_of, column_of

FIELDS = "partition bigint, file string, rows bigint, columns string, problem string"  # of a Part, for Spark


@dataclass(frozen=True)
class StoredPartition:
    """What became of a partition: a file, if it has rows; or what is wrong."""

    partition: int
    file: str = ""
    rows: int = 0
    columns: str = ""  # their names and types, which must be the same in all parts
    problem: str = ""


@dataclass(frozen=True)
class Writing:
    """What a task is told: the folder, what the columns are for, and what becomes of them first.

    Every attempt writes a file of its own; which of them count is for the driver to say.
    """

    folder: str
    blobs: tuple[BlobColumn, ...]
    preprocess: Preprocess | None

    def of_frame(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Write a partition of a DataFrame whose columns are the blobs'."""
        part = self._written(_arrays(batches, self.blobs, _partition()))
        yield arrow().RecordBatch.from_pylist([asdict(part)])

    def of_elements(self, elements: Iterable[Any]) -> Iterator[StoredPartition]:
        """Write a partition of an RDD."""
        yield self._written(batches_of(elements, self.blobs, _partition()))

    def _written(self, batches: Iterator[Arrays]) -> StoredPartition:
        """A problem with the data is told, not raised, since Spark would try again what can't go well."""
        partition = _partition()
        try:
            return self._write(partition, batches)
        except CaffeError as problem:
            return StoredPartition(partition, problem=str(problem))
        except OSError as problem:
            why = f"{self.folder} can't be written to on {socket.gethostname()}: {problem.strerror or problem}"
            return StoredPartition(partition, problem=f"{why}; data go to a folder that all machines share")

    def _write(self, partition: int, batches: Iterator[Arrays]) -> StoredPartition:
        tables = (_table(preprocessed(arrays, self.blobs, self.preprocess)) for arrays in batches)
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


def _partition() -> int:
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _arrays(batches: Iterable[Any], blobs: Sequence[BlobColumn], partition: int) -> Iterator[Arrays]:
    first = 0
    for batch in batches:
        if batch.num_rows:
            rows = [Rows(blob.column, f"partition {partition}", first) for blob in blobs]
            columns = zip(blobs, batch.columns, rows, strict=True)
            yield {blob.name: array_of(column, blob.shape, where) for blob, column, where in columns}
        first += batch.num_rows


def _table(arrays: Arrays) -> Any:
    columns = {name: column_of(array) for name, array in arrays.items()}
    return arrow().RecordBatch.from_arrays([*columns.values()], names=[*columns])


def _words(schema: Any) -> str:
    return ", ".join(f"'{field.name}' of type {_kind(field.type)}" for field in schema)


def _kind(kind: Any) -> str:
    """The type of a column, with the shape if it has arrays."""
    shape = "x".join(map(str, kind.shape)) if hasattr(kind, "shape") else ""
    return f"{kind.value_type} {shape}" if shape else str(kind)
