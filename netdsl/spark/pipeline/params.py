# ruff: noqa: N802, N815 - names as pyspark.ml has them
"""The params of pyspark.ml that estimators and models share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasPredictionCol, HasProbabilityCol

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text, text_of
from caffe_proto.upgrade import upgrade_solver
from netdsl.distributed.strategies import settings
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.distributed.transports import CONNECTIONS
from netdsl.distributed.transports.transport import OF_MPI, Transport
from netdsl.dsl.constructors import assign
from netdsl.dsl.params import NetParams
from netdsl.errors import DataError, NetError
from netdsl.model.model import open_net
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.net_inputs import Preprocess
from netdsl.solver.settings import open_settings

NetDescription = NetParams | pb.NetParameter | str | Path
Settings = pb.SolverParameter | Mapping[str, Any] | str | Path

_DEFAULTS = {"type": "SGD", "base_lr": 0.01, "lr_policy": "fixed", "momentum": 0.9}


def net_of(value: NetDescription) -> str:
    """Return the prototxt of a net. The net may be a description in the DSL, a message, a file, or prototxt."""
    if not isinstance(value, (NetParams, pb.NetParameter, str, Path)):
        raise TypeError(f"net must be a NetParams, a NetParameter or a file, not {value!r}")
    if isinstance(value, (str, Path)) and _is_text(value):
        value = from_text(str(value), pb.NetParameter)
    model = open_net(value)
    if model.weights:
        raise NetError(f"{value}: the file contains weights; name it in weights, and give the net as prototxt")
    return text_of(model.net)


def solver_of(value: Settings) -> str:
    """Return the prototxt of a solver's settings, with its nets inlined."""
    if isinstance(value, Mapping):
        param = pb.SolverParameter()
        assign(param, {**_DEFAULTS, **value}, "solver")
    elif isinstance(value, pb.SolverParameter):
        param = value
    elif not isinstance(value, (str, Path)):
        raise TypeError(f"solver must be a dict of settings, a SolverParameter or a file, not {value!r}")
    elif _is_text(value):
        param = from_text(str(value), pb.SolverParameter)
    else:
        return text_of(open_settings(value).message)
    return text_of(open_settings(upgrade_solver(param).message).message)


def _is_text(value: str | Path) -> bool:
    """Return whether a value is prototxt rather than a file name. Prototxt has several lines."""
    return "\n" in str(value)


def strategy_of(value: Strategy | str) -> str:
    """Return the text of a strategy with its settings."""
    return settings.text_of(settings.parse(value) if isinstance(value, str) else value)


def transport_of(value: Transport | str) -> str:
    """Return the name of a transport."""
    possible = [*(transport.value for transport in Transport if transport not in OF_MPI), *CONNECTIONS]
    name = value.value if isinstance(value, Transport) else value
    if name not in possible:
        raise TypeError(f"transport must be one of {', '.join(possible)}, not {name!r}")
    return name


def device_of(value: torch.device | str) -> str:
    """Return the name of a device."""
    try:
        return str(torch.device(value))
    except (RuntimeError, TypeError):
        raise TypeError(f"device must be cpu, cuda or a device such as cuda:0, not {value!r}") from None


def names_of(value: Mapping[str, str]) -> dict[str, str]:
    """Return a dict from names to names."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for pair in value.items() for name in pair):
        raise TypeError(f"the value must be a dict from blob names to column names, not {value!r}")
    return dict(value)


def classes_of(value: Sequence[str]) -> list[str]:
    """Return the names of classes."""
    if isinstance(value, str) or not all(isinstance(name, str) for name in value):
        raise TypeError(f"classes must be a list of names that starts with class 0, not {value!r}")
    return list(value)


def paths_of(value: str | Path | list[str | Path]) -> list[str]:
    """Return the names of files."""
    return [str(value)] if isinstance(value, (str, Path)) else [str(path) for path in value]


def count_of(value: Any) -> int:
    """Return a whole number of at least 1."""
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise TypeError(f"the value must be a whole number of 1 or more, not {value!r}")
    return int(value)


def invalid_of(value: Any) -> str:
    """Return the name of a way to handle invalid rows."""
    words = [choice.value for choice in InvalidRows]
    if value not in words:
        raise TypeError(f"handleInvalid must be one of {', '.join(words)}, not {value!r}")
    return str(value)


def function_of(value: Any) -> Any:
    """Return a function or another callable."""
    if not callable(value):
        raise TypeError(f"preprocess must be a function, not {value!r}")
    return value


class PredictionParams(HasPredictionCol, HasProbabilityCol):
    """Params for the columns of a net's inputs and of its predictions."""

    bindings: Param[dict[str, str]] = Param(
        Params._dummy(),
        "bindings",
        "the columns of the net's inputs; by default, an input's column has the input's name",
        typeConverter=names_of,
    )
    outputs: Param[dict[str, str]] = Param(
        Params._dummy(), "outputs", "the columns that a model adds for the values of blobs", typeConverter=names_of
    )
    classes: Param[list[str]] = Param(
        Params._dummy(),
        "classes",
        "the names of the predicted classes, starting with class 0; with names, a model adds classCol",
        typeConverter=classes_of,
    )
    classCol: Param[str] = Param(
        Params._dummy(),
        "classCol",
        "the column with the name of the predicted class",
        typeConverter=TypeConverters.toString,
    )
    vectors: Param[bool] = Param(
        Params._dummy(),
        "vectors",
        "whether a column of several numbers contains vectors of pyspark.ml, as evaluators need, instead of arrays",
        typeConverter=TypeConverters.toBoolean,
    )
    batchSize: Param[int] = Param(
        Params._dummy(),
        "batchSize",
        "number of rows that a model predicts at once; the net's own batch size if unset",
        typeConverter=count_of,
    )
    device: Param[str] = Param(
        Params._dummy(),
        "device",
        "the device on which tasks train and predict: cpu, cuda, or a device of their machines such as cuda:1; "
        "if unset, the GPU that Spark assigns to a task (spark.task.resource.gpu.amount), or otherwise the CPU",
        typeConverter=device_of,
    )
    handleInvalid: Param[str] = Param(
        Params._dummy(),
        "handleInvalid",
        "the treatment of rows with an input that is null, or with an input or a prediction that isn't finite: "
        "'error', 'skip', or 'keep', which sets their predictions to NaN. Training can't use these rows, so fit "
        "leaves them out with both 'skip' and 'keep'",
        typeConverter=invalid_of,
    )
    preprocess: Param[Preprocess] = Param(
        Params._dummy(),
        "preprocess",
        "a function from a batch of rows, as a dict of arrays by blob name, to the arrays for the net; it isn't saved",
        typeConverter=function_of,
    )

    lacks_function = False  # whether a preprocess function was set when this was saved

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(bindings={}, outputs={}, classes=[], classCol="predicted_class")
        self._setDefault(vectors=False, handleInvalid=InvalidRows.ERROR.value)

    def setParams(self, **params: Any) -> Self:
        """Set several params by name."""
        for name in params:
            if not self.hasParam(name):
                names = ", ".join(param.name for param in self.params)
                raise TypeError(f"{type(self).__name__} has no param '{name}'; its params are {names}")
        return self._set(**{name: value for name, value in params.items() if value is not None})

    def setBindings(self, value: Mapping[str, str]) -> Self:
        """Set the columns of the net's inputs."""
        return self._set(bindings=value)

    def getBindings(self) -> dict[str, str]:
        """Return the columns of the net's inputs."""
        return self.getOrDefault(self.bindings)

    def setOutputs(self, value: Mapping[str, str]) -> Self:
        """Set the columns for the values of blobs."""
        return self._set(outputs=value)

    def getOutputs(self) -> dict[str, str]:
        """Return the columns for the values of blobs."""
        return self.getOrDefault(self.outputs)

    def setPredictionCol(self, value: str) -> Self:
        """Set the name of the column with the predicted class or number. With an empty name, there is no such
        column."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:
        """Set the name of the column with the numbers of all classes. With an empty name, there is no such column."""
        return self._set(probabilityCol=value)

    def setClasses(self, value: Sequence[str]) -> Self:
        """Set the names of the classes."""
        return self._set(classes=value)

    def getClasses(self) -> list[str]:
        """Return the names of the classes."""
        return self.getOrDefault(self.classes)

    def setClassCol(self, value: str) -> Self:
        """Set the name of the column with the name of the predicted class. With an empty name, there is no such
        column."""
        return self._set(classCol=value)

    def getClassCol(self) -> str:
        """Return the column with the name of the predicted class."""
        return self.getOrDefault(self.classCol)

    def setVectors(self, value: bool) -> Self:
        """Set whether a column of several numbers contains vectors."""
        return self._set(vectors=value)

    def getVectors(self) -> bool:
        """Return whether a column of several numbers contains vectors."""
        return self.getOrDefault(self.vectors)

    def setBatchSize(self, value: int) -> Self:
        """Set the number of rows that are predicted at once."""
        return self._set(batchSize=value)

    def getBatchSize(self) -> int:
        """Return the number of rows that are predicted at once."""
        return self.getOrDefault(self.batchSize)

    def setDevice(self, value: str) -> Self:
        """Set the device on which tasks train and predict."""
        return self._set(device=value)

    def getDevice(self) -> str:
        """Return the device on which tasks train and predict."""
        return self.getOrDefault(self.device)

    def setHandleInvalid(self, value: str) -> Self:
        """Set how to handle rows that are null or not finite: 'error', 'skip' or 'keep'."""
        return self._set(handleInvalid=value)

    def getHandleInvalid(self) -> str:
        """Return how rows that are null or not finite are handled."""
        return self.getOrDefault(self.handleInvalid)

    def setPreprocess(self, value: Preprocess) -> Self:
        """Set the function that is applied to rows first."""
        return self._set(preprocess=value)

    def getPreprocess(self) -> Preprocess:
        """Return the function that is applied to rows first."""
        return self.getOrDefault(self.preprocess)

    def function(self) -> Preprocess | None:
        """Return the preprocess function, if there is one. Raises a `DataError` if there was one that wasn't saved."""
        if self.isDefined(self.preprocess):
            return self.getPreprocess()
        if self.lacks_function:
            raise DataError(
                f"{self.uid} was saved without its preprocess function, since functions aren't saved; set it "
                "again with setPreprocess"
            )
        return None
