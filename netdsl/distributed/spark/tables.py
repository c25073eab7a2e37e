"""Tables of Parquet that Spark reads and writes, with its problems told in a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from netdsl.distributed.spark.cluster import first_line
from netdsl.errors import DataError

_OWN = re.compile(r"^(?:netdsl|caffe_proto)[\w.]*Error: (.+)$", re.MULTILINE)  # at the end of a task's traceback


def read(session: SparkSession, path: str) -> DataFrame:
    """The rows of a file or a folder."""
    with problems(path, "can't be read"):
        return session.read.parquet(path)


def sample(frame: DataFrame, columns: Iterable[str]) -> Any:
    """Those of these columns that are there, of one row if there is one, as an Arrow batch."""
    chosen = frame.select([col(f"`{name}`") for name in frame.columns if name in columns])
    with problems("the table", "can't be read"):
        return chosen.limit(1).toArrow().combine_chunks().to_batches()[0]


def write(session: SparkSession, frame: DataFrame, path: str) -> None:
    """Write rows into a new folder, of which nothing is left if that fails."""
    context: Any = session.sparkContext
    target = context._jvm.org.apache.hadoop.fs.Path(path)
    system = target.getFileSystem(context._jsc.hadoopConfiguration())
    if system.exists(target):
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
