"""Parquet tables, which Spark reads and writes. Spark's errors become `DataError`s of one line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.functions import col

from netdsl.data.tables.arrow import arrow, is_tensor
from netdsl.errors import DataError
from netdsl.spark.cluster import first_line
from netdsl.spark.kinds import kind_of

_OUR_ERROR = re.compile(r"^(?:netdsl|caffe_proto)[\w.]*Error: (.+)$", re.MULTILINE)  # at the end of a task's traceback


class FolderExistsError(DataError):
    """The folder for a new table exists, and isn't changed."""


def read(session: SparkSession, path: str) -> DataFrame:
    """Return the rows of a file or a folder, with tensors as nested arrays. Spark alone would read them as flat
    arrays."""
    with query_errors(path, "can't be read"):
        frame = session.read.parquet(path)
        schema = arrow_schema(session, frame)
    tensors = {field.name: field.type for field in schema if is_tensor(field.type) and field.name in frame.columns}
    nested = {name: _nested(col(f"`{name}`"), kind) for name, kind in tensors.items()}
    return frame.withColumns(nested) if nested else frame  # Spark Connect refuses to change no columns


def arrow_schema(session: SparkSession, frame: DataFrame) -> Any:
    """Return Arrow's own schema from the first file of a table, which Spark ignores. Returns an empty schema if there
    is none."""
    files = frame.inputFiles()
    if not files:
        return arrow().schema([])
    footer = kind_of(session).arrow_footer(files[0])
    return arrow().ipc.read_schema(arrow().py_buffer(footer)) if footer else arrow().schema([])


def count(frame: DataFrame) -> int:
    """Return the number of rows."""
    with query_errors("the table", "can't be read"):
        return frame.count()


def _nested(values: Column, kind: Any) -> Column:
    """Convert a flat array to nested arrays, with the axes in the order of a tensor's type."""
    if len(kind.shape) < 2:
        return values
    strides = [math.prod(kind.shape[axis + 1 :]) for axis in range(len(kind.shape))]
    order = kind.permutation or range(len(strides))
    return _axes(values, sql.lit(0), [(kind.shape[axis], strides[axis]) for axis in order])


def _axes(values: Column, start: Column, axes: Sequence[tuple[int, int]]) -> Column:
    """Return the values from an index on as nested arrays with these lengths and strides."""
    (length, stride), *inner = axes
    if not inner and stride == 1:
        return sql.slice(values, start + 1, length)
    indices = sql.sequence(sql.lit(0), sql.lit(length - 1))
    if not inner:
        return sql.transform(indices, lambda index: sql.get(values, start + index * stride))
    return sql.transform(indices, lambda index: _axes(values, start + index * stride, inner))


def sample(frame: DataFrame, columns: Iterable[str]) -> Any:
    """Return the first row as an Arrow batch with the given columns that exist. Without rows, the batch is empty."""
    chosen = frame.select([col(f"`{name}`") for name in frame.columns if name in columns])
    with query_errors("the table", "can't be read"):
        return chosen.limit(1).toArrow().combine_chunks().to_batches()[0]


def write(session: SparkSession, frame: DataFrame, path: str) -> None:
    """Write rows into a new folder, which is removed on failure if the session can remove it."""
    writer = frame.write.mode("error")
    try:
        with query_errors(path, "can't be written"):
            try:
                writer.parquet(path)
            except PySparkException as problem:
                if problem.getCondition() != "PATH_ALREADY_EXISTS":
                    raise
                raise FolderExistsError(
                    f"{path}: the folder already exists, and Spark writes only new folders; name another one, or "
                    "remove it"
                ) from None
    except FolderExistsError:
        raise
    except BaseException:
        with suppress(Exception):  # the path may be of no file system
            kind_of(session).remove(path)
        raise


@contextmanager
def query_errors(where: str, what: str) -> Iterator[None]:
    """Convert an error of Spark's to a `DataError`. Uses the message of our own error if a task raised one."""
    try:
        yield
    except PySparkException as problem:
        messages = _OUR_ERROR.findall(str(problem))
        raise DataError(
            messages[-1]
            if messages
            else (
                f"{where}: {what}: {first_line(problem)}; check the path, and that Spark can show the table, as "
                "with frame.show()"
            )
        ) from None
    except Py4JJavaError as problem:  # raised by calls that bypass pyspark
        raise DataError(
            f"{where}: {what}: {first_line(problem.java_exception.getMessage())}; check the path, and that "
            "Spark can show the table, as with frame.show()"
        ) from None
