"""Tables of Parquet that Spark reads and writes, with its problems told in a line."""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.functions import col

from netdsl.errors import DataError
from netdsl.spark.cluster import first_line
from netdsl.tables.arrow import arrow
from netdsl.tables.columns import Shape

_OWN = re.compile(r"^(?:netdsl|caffe_proto)[\w.]*Error: (.+)$", re.MULTILINE)  # at the end of a task's traceback


def read(session: SparkSession, path: str) -> DataFrame:
    """The rows of a file or a folder, in which Arrow's tensors are arrays in arrays: Spark itself makes them flat."""
    with problems(path, "can't be read"):
        frame = session.read.parquet(path)
        shapes = _shapes(session, frame)
    return frame.withColumns({name: _nested(col(f"`{name}`"), shape) for name, shape in shapes.items()})


def _shapes(session: SparkSession, frame: DataFrame) -> dict[str, Shape]:
    """Those of tensors. Arrow keeps its own schema in a file, of which Spark knows nothing."""
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
    tensors = [field for field in schema if isinstance(field.type, arrow().FixedShapeTensorType)]
    return {field.name: tuple(field.type.shape) for field in tensors if field.name in frame.columns}


def _nested(values: Column, shape: Shape) -> Column:
    """A flat array as arrays in arrays."""
    if len(shape) < 2:
        return values
    size = math.prod(shape[1:])
    places = sql.sequence(sql.lit(0), sql.lit(shape[0] - 1))
    return sql.transform(places, lambda place: _nested(sql.slice(values, place * size + 1, size), shape[1:]))


def sample(frame: DataFrame, columns: Iterable[str]) -> Any:
    """Those of these columns that are there, of one row if there is one, as an Arrow batch."""
    chosen = frame.select([col(f"`{name}`") for name in frame.columns if name in columns])
    with problems("the table", "can't be read"):
        return chosen.limit(1).toArrow().combine_chunks().to_batches()[0]


def write(session: SparkSession, frame: DataFrame, path: str) -> None:
    """Write rows into a new folder, of which nothing is left if that fails."""
    context: Any = session.sparkContext
    with problems(path, "can't be written"):
        target = context._jvm.org.apache.hadoop.fs.Path(path)
        system = target.getFileSystem(context._jsc.hadoopConfiguration())
        there = system.exists(target)
    if there:
        raise DataError(f"{path}: is there already; Spark writes a new folder: name another one, or remove it")
    try:
        with problems(path, "can't be written"):
            frame.write.mode("errorifexists").parquet(path)
    except BaseException:
        system.delete(target, True)
        raise


@contextmanager
def problems(where: str, what: str) -> Iterator[None]:
    """A DataError for what Spark says, in our own words if a task found it out."""
    try:
        yield
    except PySparkException as problem:
        own = _OWN.findall(str(problem))
        raise DataError(own[-1] if own else f"{where}: {what}: {first_line(problem)}") from None
    except Py4JJavaError as problem:  # of what is called without pyspark in between
        raise DataError(f"{where}: {what}: {first_line(problem.java_exception.getMessage())}") from None
