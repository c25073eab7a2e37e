"""Tables of Parquet that Spark reads and writes, with its problems told in a line."""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.functions import col

from netdsl.errors import DataError
from netdsl.spark.cluster import first_line
from netdsl.tables.arrow import arrow, is_tensor

_OUR_ERROR = re.compile(r"^(?:netdsl|caffe_proto)[\w.]*Error: (.+)$", re.MULTILINE)  # at the end of a task's traceback


def read(session: SparkSession, path: str) -> DataFrame:
    """The rows of a file or a folder, in which Arrow's tensors are arrays in arrays: Spark itself makes them flat."""
    with query_errors(path, "can't be read"):
        frame = session.read.parquet(path)
        tensors = _tensor_types(session, frame)
    return frame.withColumns({name: _nested(col(f"`{name}`"), kind) for name, kind in tensors.items()})


def _tensor_types(session: SparkSession, frame: DataFrame) -> dict[str, Any]:
    """The types of columns of tensors. Arrow keeps its own schema in a file, of which Spark knows nothing."""
    files = frame.inputFiles()
    if not files:
        return {}
    context: Any = session.sparkContext
    hadoop = context._jvm.org.apache.hadoop.fs
    parquet = context._jvm.org.apache.parquet.hadoop
    path = hadoop.Path(context._jvm.java.net.URI(files[0]))
    file = parquet.util.HadoopInputFile.fromPath(path, context._jsc.hadoopConfiguration())
    with closing(parquet.ParquetFileReader.open(file)) as reader:
        text = reader.getFileMetaData().getKeyValueMetaData().get("ARROW:schema")
    schema = arrow().ipc.read_schema(arrow().py_buffer(b64decode(text))) if text else ()
    return {field.name: field.type for field in schema if is_tensor(field.type) and field.name in frame.columns}


def _nested(values: Column, kind: Any) -> Column:
    """A flat array as arrays in arrays, with the axes in the order that the type of a tensor says."""
    if len(kind.shape) < 2:
        return values
    strides = [math.prod(kind.shape[axis + 1 :]) for axis in range(len(kind.shape))]
    order = kind.permutation or range(len(strides))
    return _axes(values, sql.lit(0), [(kind.shape[axis], strides[axis]) for axis in order])


def _axes(values: Column, start: Column, axes: Sequence[tuple[int, int]]) -> Column:
    """The values from a place on, as arrays in arrays of these lengths and strides."""
    (length, stride), *inner = axes
    if not inner and stride == 1:
        return sql.slice(values, start + 1, length)
    places = sql.sequence(sql.lit(0), sql.lit(length - 1))
    if not inner:
        return sql.transform(places, lambda place: sql.get(values, start + place * stride))
    return sql.transform(places, lambda place: _axes(values, start + place * stride, inner))


def sample(frame: DataFrame, columns: Iterable[str]) -> Any:
    """Those of these columns that are there, of one row if there is one, as an Arrow batch."""
    chosen = frame.select([col(f"`{name}`") for name in frame.columns if name in columns])
    with query_errors("the table", "can't be read"):
        return chosen.limit(1).toArrow().combine_chunks().to_batches()[0]


def write(session: SparkSession, frame: DataFrame, path: str) -> None:
    """Write rows into a new folder, of which nothing is left if that fails."""
    context: Any = session.sparkContext
    with query_errors(path, "can't be written"):
        target = context._jvm.org.apache.hadoop.fs.Path(path)
        system = target.getFileSystem(context._jsc.hadoopConfiguration())
        there = system.exists(target)
    if there:
        raise DataError(f"{path}: is there already; Spark writes a new folder: name another one, or remove it")
    try:
        with query_errors(path, "can't be written"):
            frame.write.mode("errorifexists").parquet(path)
    except BaseException:
        system.delete(target, True)
        raise


@contextmanager
def query_errors(where: str, what: str) -> Iterator[None]:
    """A DataError for an error of Spark's, or with the message of our own error that a task raised."""
    try:
        yield
    except PySparkException as problem:
        messages = _OUR_ERROR.findall(str(problem))
        raise DataError(messages[-1] if messages else f"{where}: {what}: {first_line(problem)}") from None
    except Py4JJavaError as problem:  # of what is called without pyspark in between
        raise DataError(f"{where}: {what}: {first_line(problem.java_exception.getMessage())}") from None
