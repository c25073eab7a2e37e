"""The rows of a DataFrame or an RDD, put once on storage that all machines share."""

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
from netdsl.prediction.blobs import BlobColumn, Preprocess, check_columns
from netdsl.spark.tables.partition import FIELDS, StoredPartition, Writing

BINDINGS = "bindings={{'{}': ...}}"  # how another column is named

_DONE = "_DONE"  # is there when all rows are
_WRITING = ".writing"  # where tasks write, and those that Spark gave up may go on to


@dataclass(frozen=True)
class Stored:
    """The source that was made of data, and how many rows it has."""

    source: str
    rows: int


def store_rows(
    data: DataFrame | RDD[Any], folder: Path, blobs: Sequence[BlobColumn], preprocess: Preprocess | None = None
) -> Stored:
    """Write what blobs need of data into a folder, in one job; if that was done before, what is there stays.

    `preprocess` is given batches of rows, as arrays by the names of blobs, and what it returns is written.
    """
    done = folder / _DONE
    if not done.exists():
        with _emptied(folder) as writing:
            parts = _written(data, Writing(str(writing), tuple(blobs), preprocess))
            _check(parts)
            for part in parts:
                if part.rows:
                    (writing / part.file).replace(folder / f"part-{part.partition:05}.arrow")
        with atomic_path(done) as temporary:
            temporary.write_text(json.dumps({"rows": sum(part.rows for part in parts)}))
    return Stored(f"arrow:{folder}", json.loads(done.read_text())["rows"])


@contextmanager
def _emptied(folder: Path) -> Iterator[Path]:
    """A folder, without what was left in it, and one in it to write to; both are gone if that fails."""
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


def _written(data: DataFrame | RDD[Any], writing: Writing) -> list[StoredPartition]:
    """What the tasks of a job wrote."""
    if not isinstance(data, DataFrame):
        return data.mapPartitions(writing.of_elements).collect()
    check_columns(data.columns, writing.blobs, BINDINGS)
    chosen = data.select(*(col(f"`{blob.column}`").alias(blob.name) for blob in writing.blobs))
    return [StoredPartition(**row.asDict()) for row in chosen.mapInArrow(writing.of_frame, FIELDS).collect()]


def _check(parts: Sequence[StoredPartition]) -> None:
    problems = [part.problem for part in parts if part.problem]
    if problems:
        more = f" (and {len(problems) - 1} more partitions with problems)" if len(problems) > 1 else ""
        raise DataError(f"{problems[0]}{more}")
    found = [part for part in parts if part.rows]
    if not found:
        raise DataError("there are no rows to learn from or to test on; look at what the query gives")
    for part in found:
        if part.columns != found[0].columns:
            raise DataError(
                f"partition {found[0].partition} has {found[0].columns}, and partition {part.partition} has "
                f"{part.columns}; all rows must have values of one kind and shape"
            )
