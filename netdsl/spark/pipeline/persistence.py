"""Saves and loads the common parts of models and estimators: params as JSON, and files. Pickles nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter
from pyspark.sql import SparkSession

from netdsl.spark.pipeline.params import PredictionParams

_HOME = "netdsl.spark"  # the package under which saved files name their classes, wherever those are defined


def save_params(instance: PredictionParams, path: str, session: SparkSession, **more: Any) -> None:
    """Save all params. The function isn't saved, only whether there is one."""
    extra = {"class": f"{_HOME}.{type(instance).__name__}", "preprocess": instance.function() is not None, **more}
    params = {param.name: value for param, value in instance._paramMap.items() if param != instance.preprocess}
    DefaultParamsWriter.saveMetadata(instance, path, session, extraMetadata=extra, paramMap=params)


def set_params(instance: PredictionParams, metadata: dict[str, Any]) -> None:
    """Set params from saved values."""
    instance._resetUid(metadata["uid"])
    reading: Any = instance  # pyspark's types know this only for MLReadable classes
    DefaultParamsReader.getAndSetParams(reading, metadata)
    instance.lacks_function = metadata["preprocess"]


def upload(session: SparkSession, file: Path, path: str) -> None:
    """Copy a file of this machine to a path of any of Hadoop's file systems."""
    system, target = _file_system(session, path)
    system.copyFromLocalFile(False, True, _hadoop_path(session, f"file://{file}"), target)


def download(session: SparkSession, path: str, file: Path) -> None:
    """Copy a file of one of Hadoop's file systems to this machine."""
    system, source = _file_system(session, path)
    system.copyToLocalFile(False, source, _hadoop_path(session, f"file://{file}"), True)


def _file_system(session: SparkSession, path: str) -> tuple[Any, Any]:
    """Return Hadoop's file system of a path, such as a local one or HDFS, and the path in it."""
    there = _hadoop_path(session, path)
    context: Any = session.sparkContext
    return there.getFileSystem(context._jsc.hadoopConfiguration()), there


def _hadoop_path(session: SparkSession, path: str) -> Any:
    context: Any = session.sparkContext
    return context._jvm.org.apache.hadoop.fs.Path(path)
