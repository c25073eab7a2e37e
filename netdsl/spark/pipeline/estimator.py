# ruff: noqa: N802, N815 - names as pyspark.ml has them
"""The estimator of pyspark.ml that trains a net."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import torch
from pyspark.ml import Estimator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasValidationIndicatorCol
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import NetError, SolverError
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.spark.pipeline.fit import fit_net
from netdsl.spark.pipeline.fit_request import FitRequest
from netdsl.spark.pipeline.model import NetModel
from netdsl.spark.pipeline.param_values import (
    NetDescription,
    Settings,
    count_of,
    net_of,
    paths_of,
    solver_of,
    strategy_of,
    transport_of,
)
from netdsl.spark.pipeline.params import PredictionParams
from netdsl.spark.pipeline.persistence import EstimatorReader, EstimatorWriter
from netdsl.spark.pipeline.tuned_model import tuned_model


class NetEstimator(
    Estimator[NetModel], PredictionParams, HasValidationIndicatorCol, MLReadable["NetEstimator"], MLWritable
):
    """Trains a net on the rows of a DataFrame or an RDD, with workers that are tasks of Spark.

    `NetEstimator(net=params, solver={"max_iter": 500}, bindings={"data": "features"}).fit(frame)` is a `NetModel`. Rows
    are written once to a folder that all machines share, and workers read them there.
    """

    net: Param[str] = Param(
        Params._dummy(),
        "net",
        "the net: a NetParams, a NetParameter, or a prototxt; the solver's own if it isn't set",
        typeConverter=net_of,
    )
    solver: Param[str] = Param(
        Params._dummy(),
        "solver",
        "how to train: a dict of Caffe's settings, a SolverParameter, or a prototxt; a dict needs max_iter, and is for "
        "SGD with a base_lr of 0.01 and a momentum of 0.9 where it says nothing else",
        typeConverter=solver_of,
    )
    strategy: Param[str] = Param(
        Params._dummy(),
        "strategy",
        "what workers exchange, and when, such as averaging:tau=50",
        typeConverter=strategy_of,
    )
    workers: Param[int] = Param(
        Params._dummy(),
        "workers",
        "how many tasks train together; as many as Spark has slots for if it isn't set",
        typeConverter=count_of,
    )
    transport: Param[str] = Param(
        Params._dummy(),
        "transport",
        "how models are exchanged: gloo, nccl, shared-memory, or relay, which is by way of the driver; one that "
        "works if it isn't set",
        typeConverter=transport_of,
    )
    runFolder: Param[str] = Param(
        Params._dummy(),
        "runFolder",
        "a folder that all machines share, for data and rounds; an interrupted fit is resumed there. If it isn't "
        "set a new folder is made below the setting spark.netdsl.folder, and removed afterwards",
        typeConverter=lambda value: str(value),
    )
    weights: Param[list[str]] = Param(
        Params._dummy(), "weights", "files with the weights to begin from, as for fine-tuning", typeConverter=paths_of
    )
    shuffle: Param[bool] = Param(
        Params._dummy(), "shuffle", "whether rows are taken in a random order", typeConverter=TypeConverters.toBoolean
    )
    seed: Param[int] = Param(
        Params._dummy(),
        "seed",
        "the seed of all random numbers; the solver's random_seed if it isn't set",
        typeConverter=TypeConverters.toInt,
    )

    model: Param[str] = Param(
        Params._dummy(),
        "model",
        "the model to fine-tune, in place of a net: its name, its folder or its file; it begins with its weights, and "
        "what predicts is made anew for the labels of the rows",
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
        """The net, as prototxt."""
        return self.getOrDefault(self.net)

    def setModel(self, value: str | Path) -> Self:
        """Set the model to fine-tune."""
        return self._set(model=value)

    def getModel(self) -> str:
        """The model to fine-tune."""
        return self.getOrDefault(self.model)

    def setSolver(self, value: Settings) -> Self:
        """Set the solver's settings."""
        return self._set(solver=value)

    def getSolver(self) -> str:
        """The solver's settings, as prototxt."""
        return self.getOrDefault(self.solver)

    def setStrategy(self, value: Strategy | str) -> Self:
        """Set the strategy: what workers exchange, and when."""
        return self._set(strategy=value)

    def getStrategy(self) -> str:
        """The strategy, as text."""
        return self.getOrDefault(self.strategy)

    def setWorkers(self, value: int) -> Self:
        """Set the number of tasks that train together."""
        return self._set(workers=value)

    def getWorkers(self) -> int:
        """The number of tasks that train together."""
        return self.getOrDefault(self.workers)

    def setTransport(self, value: Transport | str) -> Self:
        """Set the transport, which models are exchanged by."""
        return self._set(transport=value)

    def getTransport(self) -> str:
        """The name of the transport."""
        return self.getOrDefault(self.transport)

    def setRunFolder(self, value: str | Path) -> Self:
        """Set the folder for data and rounds."""
        return self._set(runFolder=value)

    def getRunFolder(self) -> str:
        """The folder for data and rounds."""
        return self.getOrDefault(self.runFolder)

    def setWeights(self, value: str | Path | list[str]) -> Self:
        """Set the files with the weights to begin from."""
        return self._set(weights=value)

    def getWeights(self) -> list[str]:
        """The files with the weights to begin from."""
        return self.getOrDefault(self.weights)

    def setShuffle(self, value: bool) -> Self:
        """Set whether rows are taken in a random order."""
        return self._set(shuffle=value)

    def getShuffle(self) -> bool:
        """Whether rows are taken in a random order."""
        return self.getOrDefault(self.shuffle)

    def setSeed(self, value: int) -> Self:
        """Set the seed of all random numbers."""
        return self._set(seed=value)

    def getSeed(self) -> int:
        """The seed of all random numbers."""
        return self.getOrDefault(self.seed)

    def setValidationIndicatorCol(self, value: str) -> Self:
        """Set the column that is true for rows to test on, and not to learn from.

        A query whose rows can differ from one time to the next must be cached, since it is run for both kinds of rows.
        """
        return self._set(validationIndicatorCol=value)

    @classmethod
    def read(cls) -> EstimatorReader:
        """The reader of saved estimators."""
        return EstimatorReader(cls)

    def write(self) -> EstimatorWriter:
        """The writer that saves the estimator."""
        return EstimatorWriter(self)

    def _fit(self, dataset: DataFrame) -> NetModel:
        with fit_net(self._request(dataset), dataset) as result:
            model = NetModel(result.net, result.weights, history=result.history)
        return self._copyValues(model)

    def _request(self, rows: DataFrame) -> FitRequest:
        def value_of(param: Param[Any]) -> Any:
            return self.getOrDefault(param) if self.isDefined(param) else None

        transport, folder = value_of(self.transport), value_of(self.runFolder)
        settings, weights = self._settings(), tuple(value_of(self.weights) or ())
        if self.isDefined(self.model):
            tuned = tuned_model(self.getModel(), weights, rows, self.getBindings())
            settings.net_param.CopyFrom(tuned.net)
            weights = tuple(map(str, tuned.files))
        run = Run(
            settings,
            parse(self.getStrategy()),
            weights=weights,
            transport=None if transport is None else Transport(transport),
            devices=(torch.device(self.getDevice()),) if self.isDefined(self.device) else (),
        )
        return FitRequest(
            run,
            self.getBindings(),
            workers=value_of(self.workers),
            folder=None if folder is None else Path(folder),
            preprocess=self.function(),
            shuffle=self.getShuffle(),
            validation=value_of(self.validationIndicatorCol) or "",
            invalid=InvalidRows(self.getHandleInvalid()),
        )

    def _settings(self) -> pb.SolverParameter:
        """The solver's settings, with the net in them."""
        if not self.isDefined(self.solver):
            raise SolverError("how long is the net to be trained? Say it with solver={'max_iter': ...}")
        param = from_text(self.getSolver(), pb.SolverParameter)
        if self.isDefined(self.net) and self.isDefined(self.model):
            raise NetError("net and model both say what is trained; set one of them")
        if self.isDefined(self.net) or self.isDefined(self.model):
            for name in ("train_net_param", "test_net_param", "test_state"):
                param.ClearField(name)
        if self.isDefined(self.net):
            param.net_param.CopyFrom(from_text(self.getNet(), pb.NetParameter))
        if self.isDefined(self.seed):
            param.random_seed = self.getSeed()
        return param
