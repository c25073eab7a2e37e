"""Saves and loads the common parts of models and estimators: params as JSON, and files. Pickles nothing."""

from __future__ import annotations

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
