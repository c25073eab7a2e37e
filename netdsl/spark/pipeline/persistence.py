"""Saving and loading of models and estimators: params as JSON, nets as Caffe's files, nothing pickled."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter
from pyspark.sql import SparkSession

from netdsl.distributed.run_log import Moment
from netdsl.spark.pipeline.params import PredictionParams

if TYPE_CHECKING:
    from netdsl.spark.pipeline.estimator import NetEstimator
    from netdsl.spark.pipeline.model import NetModel

_HOME = "netdsl.spark"  # the package by which saved files name their classes, wherever those are defined
_FILES = ("net.prototxt", "weights.caffemodel")


def _save_params(instance: PredictionParams, path: str, session: SparkSession, **more: Any) -> None:
    """Save all params but the function; only whether there was one is saved."""
    extra = {"class": f"{_HOME}.{type(instance).__name__}", "preprocess": instance.function() is not None, **more}
    params = {param.name: value for param, value in instance._paramMap.items() if param != instance.preprocess}
    DefaultParamsWriter.saveMetadata(instance, path, session, extraMetadata=extra, paramMap=params)


def _set_params(instance: NetEstimator | NetModel, metadata: dict[str, Any]) -> None:
    instance._resetUid(metadata["uid"])
    DefaultParamsReader.getAndSetParams(instance, metadata)
    instance.lacks_function = metadata["preprocess"]


class EstimatorWriter(MLWriter):
    """Saves an estimator."""

    def __init__(self, estimator: NetEstimator) -> None:
        super().__init__()
        self._estimator = estimator

    def saveImpl(self, path: str) -> None:  # noqa: N802 - as Spark calls it
        """Save the estimator in a folder."""
        _save_params(self._estimator, path, self.sparkSession)


class EstimatorReader(MLReader["NetEstimator"]):
    """Loads an estimator."""

    def __init__(self, kind: type[NetEstimator]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> NetEstimator:
        """The estimator that was saved in a folder."""
        estimator = self._kind()
        _set_params(estimator, DefaultParamsReader.loadMetadata(path, self.sparkSession))
        return estimator


class ModelWriter(MLWriter):
    """Saves a model."""

    def __init__(self, model: NetModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802 - as Spark calls it
        """Save the model in a folder, with the net and its weights as Caffe's files."""
        history = [asdict(moment) for moment in self._model.history]
        _save_params(self._model, path, self.sparkSession, history=history)
        with self._model.files() as files:
            for file, name in zip(files, _FILES, strict=True):
                _put(self.sparkSession, file, f"{path}/{name}")


class ModelReader(MLReader["NetModel"]):
    """Loads a model."""

    def __init__(self, kind: type[NetModel]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> NetModel:
        """The model that was saved in a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        history = [Moment(**moment) for moment in metadata["history"]]
        with TemporaryDirectory() as folder:
            files = [Path(folder, name) for name in _FILES]
            for file in files:
                _get(self.sparkSession, f"{path}/{file.name}", file)
            model = self._kind(*files, history=history)
        _set_params(model, metadata)
        return model


def _put(session: SparkSession, file: Path, path: str) -> None:
    system, target = _system(session, path)
    system.copyFromLocalFile(False, True, _path(session, f"file://{file}"), target)


def _get(session: SparkSession, path: str, file: Path) -> None:
    system, source = _system(session, path)
    system.copyToLocalFile(False, source, _path(session, f"file://{file}"), True)


def _system(session: SparkSession, path: str) -> tuple[Any, Any]:
    """Hadoop's file system that has a path: a local one, HDFS, ..."""
    there = _path(session, path)
    context: Any = session.sparkContext
    return there.getFileSystem(context._jsc.hadoopConfiguration()), there


def _path(session: SparkSession, path: str) -> Any:
    context: Any = session.sparkContext
    return context._jvm.org.apache.hadoop.fs.Path(path)
