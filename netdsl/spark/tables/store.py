"""The storage of the rows of a DataFrame or an RDD in a folder that all machines share."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import RDD
from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from caffe_proto.errors import FileError
from caffe_proto.storage import atomic_path
from netdsl.errors import DataError
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.net_inputs import Preprocess
from netdsl.spark.tables.partition import FIELDS, PartitionWriter, StoredPartition
from netdsl.tables.table import BlobColumn, check_columns

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
            parts = _write(data, PartitionWriter(str(writing), tuple(blobs), preprocess, invalid))
            _check(parts)
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


def _write(data: DataFrame | RDD[Any], writer: PartitionWriter) -> list[StoredPartition]:
    """Run a job whose tasks write the partitions."""
    if not isinstance(data, DataFrame):
        return data.mapPartitions(writer.write_elements).collect()
    check_columns(data.columns, writer.blobs, BINDINGS)
    selected = data.select(*(col(f"`{column}`") for column in dict.fromkeys(blob.column for blob in writer.blobs)))
    return [StoredPartition(**row.asDict()) for row in selected.mapInArrow(writer.write_frame, FIELDS).collect()]


def _check(parts: Sequence[StoredPartition]) -> None:
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
