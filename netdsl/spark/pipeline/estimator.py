# ruff: noqa: N802, N815 - names as pyspark.ml has them
"""The estimator of pyspark.ml that trains a net."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import torch
from pyspark.ml import Estimator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasValidationIndicatorCol
from pyspark.ml.util import DefaultParamsReader, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.functions import max as highest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.addresses import local_path
from caffe_proto.text.prototxt import from_text
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DataError, NetError, SolverError, WeightsError
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.solver.settings import SolverSettings, open_settings
from netdsl.spark.pipeline.fit import Fit
from netdsl.spark.pipeline.model import NetModel
from netdsl.spark.pipeline.params import (
    NetDescription,
    PredictionParams,
    Settings,
    count_of,
    net_of,
    paths_of,
    solver_of,
    strategy_of,
    transport_of,
)
from netdsl.spark.pipeline.persistence import save_params, set_params
from netdsl.tuning.new_head import DataLayers, heads_of, label_of, tunable_model
from netdsl.tuning.preparation import transforms_of

_TUNED_BATCH = 32  # batch size of each worker, and of tests
_SUFFIX = "tuned"  # appended to the names of layers that learn from scratch


class NetEstimator(
    Estimator[NetModel], PredictionParams, HasValidationIndicatorCol, MLReadable["NetEstimator"], MLWritable
):
    """Trains a net on the rows of a DataFrame or an RDD, with workers that are tasks of Spark.

    `NetEstimator(net=params, solver={"max_iter": 500}, bindings={"data": "features"}).fit(frame)` is a `NetModel`. Rows
    are stored once in a folder, and workers read them there, or fetch them if their machines don't see the folder.
    """

    net: Param[str] = Param(
        Params._dummy(),
        "net",
        "the net: a NetParams, a NetParameter, or a prototxt; the solver's own net if unset",
        typeConverter=net_of,
    )
    solver: Param[str] = Param(
        Params._dummy(),
        "solver",
        "settings of the training: a dict of Caffe's settings, a SolverParameter, or a prototxt; a dict needs "
        "max_iter unless epochs is set, and its defaults are SGD with a base_lr of 0.01 and a momentum of 0.9",
        typeConverter=solver_of,
    )
    epochs: Param[float] = Param(
        Params._dummy(),
        "epochs",
        "number of times that all rows are read, however many workers there are; replaces the solver's "
        "max_iter. With rows for validation, a test follows each epoch unless the solver has a test_interval",
        typeConverter=TypeConverters.toFloat,
    )
    strategy: Param[str] = Param(
        Params._dummy(),
        "strategy",
        "the strategy by which workers exchange models, such as averaging:tau=50",
        typeConverter=strategy_of,
    )
    workers: Param[int] = Param(
        Params._dummy(),
        "workers",
        "number of tasks that train together; one for each of Spark's slots if unset",
        typeConverter=count_of,
    )
    transport: Param[str] = Param(
        Params._dummy(),
        "transport",
        "the transport of models: gloo, nccl, shared-memory, or relay, which sends them through the driver; a "
        "transport that works if unset",
        typeConverter=transport_of,
    )
    runFolder: Param[str] = Param(
        Params._dummy(),
        "runFolder",
        "a folder for data and rounds, best one that all machines share; an interrupted fit is resumed there. If "
        "unset, a new folder is created below the setting spark.netdsl.folder or on the driver's machine, and removed "
        "afterwards",
        typeConverter=lambda value: str(value),
    )
    weights: Param[list[str]] = Param(
        Params._dummy(), "weights", "files with the initial weights, as for fine-tuning", typeConverter=paths_of
    )
    shuffle: Param[bool] = Param(
        Params._dummy(), "shuffle", "whether rows are read in a random order", typeConverter=TypeConverters.toBoolean
    )
    seed: Param[int] = Param(
        Params._dummy(),
        "seed",
        "the seed of all random numbers; the solver's random_seed if unset",
        typeConverter=TypeConverters.toInt,
    )

    model: Param[str] = Param(
        Params._dummy(),
        "model",
        "the model to fine-tune instead of a net: its name, its folder or its file. Training starts with its "
        "weights, and its predicting layers are replaced to fit the labels of the rows",
        typeConverter=lambda value: str(value),
    )

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(strategy=ModelAveraging(), shuffle=True)
        self.setParams(**params)

    def setNet(self, value: NetDescription) -> Self:
        """Set the net."""
        return self._set(net=value)

    def getNet(self) -> str:
        """Return the net, as prototxt."""
        return self.getOrDefault(self.net)

    def setModel(self, value: str | Path) -> Self:
        """Set the model to fine-tune."""
        return self._set(model=value)

    def getModel(self) -> str:
        """Return the model to fine-tune."""
        return self.getOrDefault(self.model)

    def setSolver(self, value: Settings) -> Self:
        """Set the solver's settings."""
        return self._set(solver=value)

    def getSolver(self) -> str:
        """Return the solver's settings, as prototxt."""
        return self.getOrDefault(self.solver)

    def setEpochs(self, value: float) -> Self:
        """Set the number of times that all rows are read."""
        return self._set(epochs=value)

    def getEpochs(self) -> float:
        """Return the number of times that all rows are read."""
        return self.getOrDefault(self.epochs)

    def setStrategy(self, value: Strategy | str) -> Self:
        """Set the strategy by which workers exchange models."""
        return self._set(strategy=value)

    def getStrategy(self) -> str:
        """Return the strategy, as text."""
        return self.getOrDefault(self.strategy)

    def setWorkers(self, value: int) -> Self:
        """Set the number of tasks that train together."""
        return self._set(workers=value)

    def getWorkers(self) -> int:
        """Return the number of tasks that train together."""
        return self.getOrDefault(self.workers)

    def setTransport(self, value: Transport | str) -> Self:
        """Set the transport of models."""
        return self._set(transport=value)

    def getTransport(self) -> str:
        """Return the name of the transport."""
        return self.getOrDefault(self.transport)

    def setRunFolder(self, value: str | Path) -> Self:
        """Set the folder for data and rounds."""
        return self._set(runFolder=value)

    def getRunFolder(self) -> str:
        """Return the folder for data and rounds."""
        return self.getOrDefault(self.runFolder)

    def setWeights(self, value: str | Path | list[str]) -> Self:
        """Set the files with the initial weights."""
        return self._set(weights=value)

    def getWeights(self) -> list[str]:
        """Return the files with the initial weights."""
        return self.getOrDefault(self.weights)

    def setShuffle(self, value: bool) -> Self:
        """Set whether rows are read in a random order."""
        return self._set(shuffle=value)

    def getShuffle(self) -> bool:
        """Return whether rows are read in a random order."""
        return self.getOrDefault(self.shuffle)

    def setSeed(self, value: int) -> Self:
        """Set the seed of all random numbers."""
        return self._set(seed=value)

    def getSeed(self) -> int:
        """Return the seed of all random numbers."""
        return self.getOrDefault(self.seed)

    def setValidationIndicatorCol(self, value: str) -> Self:
        """Set the column that is true for rows on which to test but not to train.

        Cache a query whose rows can differ between runs, since it runs once for each kind of row.
        """
        return self._set(validationIndicatorCol=value)

    @classmethod
    def read(cls) -> EstimatorReader:
        """Return the reader of saved estimators."""
        return EstimatorReader(cls)

    def write(self) -> EstimatorWriter:
        """Return the writer that saves the estimator."""
        return EstimatorWriter(self)

    def _fit(self, dataset: DataFrame) -> NetModel:
        return self._copyValues(self._fit_on(dataset).train(dataset))

    def _fit_on(self, rows: DataFrame) -> Fit:
        def value_of(param: Param[Any]) -> Any:
            return self.getOrDefault(param) if self.isDefined(param) else None

        transport, folder = value_of(self.transport), value_of(self.runFolder)
        settings, weights = self._solver_with_net(), tuple(value_of(self.weights) or ())
        if self.isDefined(self.model):
            tuned = tuned_model(self.getModel(), weights, rows, self.getBindings())
            settings = settings.with_net(tuned)
            weights = tuple(map(str, tuned.files))
        run = Run(
            settings,
            parse(self.getStrategy()),
            weights=weights,
            transport=None if transport is None else Transport(transport),
            devices=(torch.device(self.getDevice()),) if self.isDefined(self.device) else (),
        )
        return Fit(
            run,
            self.getBindings(),
            workers=value_of(self.workers),
            epochs=value_of(self.epochs),
            folder=None if folder is None else local_path(folder, "a folder"),
            preprocess=self.function(),
            shuffle=self.getShuffle(),
            validation=value_of(self.validationIndicatorCol) or "",
            invalid=InvalidRows(self.getHandleInvalid()),
        )

    def _solver_with_net(self) -> SolverSettings:
        """Return the solver's settings with the net to train. A model's net isn't included, since it depends on the
        rows."""
        if not self.isDefined(self.solver) and not self.isDefined(self.epochs):
            raise SolverError("the length of the training isn't set; set epochs=... or solver={'max_iter': ...}")
        param = from_text(self.getSolver() if self.isDefined(self.solver) else solver_of({}), pb.SolverParameter)
        if self.isDefined(self.net) and self.isDefined(self.model):
            raise NetError("both net and model are set; set net for your own net, or model for one of the zoo")
        if self.isDefined(self.net) or self.isDefined(self.model):
            for name in ("train_net_param", "test_net_param", "test_state"):
                param.ClearField(name)
        if self.isDefined(self.net):
            param.net_param.CopyFrom(from_text(self.getNet(), pb.NetParameter))
        if self.isDefined(self.seed):
            param.random_seed = self.getSeed()
        return open_settings(param)


class EstimatorWriter(MLWriter):
    """Saves an estimator."""

    def __init__(self, estimator: NetEstimator) -> None:
        super().__init__()
        self._estimator = estimator

    def saveImpl(self, path: str) -> None:
        """Save the estimator in a folder."""
        save_params(self._estimator, path, self.sparkSession)


class EstimatorReader(MLReader["NetEstimator"]):
    """Loads an estimator."""

    def __init__(self, kind: type[NetEstimator]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> NetEstimator:
        """Return the estimator that was saved in a folder."""
        estimator = self._kind()
        set_params(estimator, DefaultParamsReader.loadMetadata(path, self.sparkSession))
        return estimator


def tuned_model(name: str, weights: tuple[str, ...], rows: DataFrame, bindings: Mapping[str, str]) -> Model:
    """Return the model with new heads. Its data layers read the columns of their tops."""
    model = open_model(name, weights)
    if not model.weights:
        raise WeightsError(f"{name}: the model has no weights with which to start; set weights to a file that has")
    label = label_of(model)
    heads = heads_of(model, {}, _count_classes(rows, bindings.get(label, label)))
    phases = (pb.TRAIN, pb.TEST)
    data = DataLayers(dict.fromkeys(phases, ""), dict.fromkeys(phases, _TUNED_BATCH), transforms_of(model))
    return tunable_model(model, data, heads, _SUFFIX).model


def _count_classes(rows: DataFrame, column: str) -> int:
    """Return the number of classes: one more than the largest label."""
    if column not in rows.columns:
        raise DataError(f"there is no column '{column}' with labels; bind another column, as in {{'label': 'kind'}}")
    row = rows.select(highest(col(f"`{column}`")).alias("label")).first()
    if row is None or row["label"] is None:
        raise DataError(f"column '{column}' has no labels; drop the rows without labels, or bind another column")
    return int(row["label"]) + 1
