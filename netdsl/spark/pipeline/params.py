# ruff: noqa: N802, N815 - names as pyspark.ml has them
"""The params of pyspark.ml that estimators and models share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasPredictionCol, HasProbabilityCol

from netdsl.errors import DataError
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.net_inputs import Preprocess
from netdsl.spark.pipeline.param_values import classes_of, count_of, device_of, function_of, invalid_of, names_of


class PredictionParams(HasPredictionCol, HasProbabilityCol):
    """Params for the columns of a net's inputs and of its predictions."""

    bindings: Param[dict[str, str]] = Param(
        Params._dummy(),
        "bindings",
        "the columns of the blobs that come from outside; one that isn't named has the column of its own name",
        typeConverter=names_of,
    )
    outputs: Param[dict[str, str]] = Param(
        Params._dummy(), "outputs", "the columns that a model adds with the values of blobs", typeConverter=names_of
    )
    classes: Param[list[str]] = Param(
        Params._dummy(),
        "classes",
        "the names of the classes that are predicted, of class 0 first; with them a model adds classCol",
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
        "whether several numbers are a vector of pyspark.ml, as evaluators need them, rather than an array",
        typeConverter=TypeConverters.toBoolean,
    )
    batchSize: Param[int] = Param(
        Params._dummy(),
        "batchSize",
        "rows that a model predicts at once; as many as the net was made for if it isn't set",
        typeConverter=count_of,
    )
    device: Param[str] = Param(
        Params._dummy(),
        "device",
        "the device that tasks train and predict on: cpu, cuda, or cuda:1 of their machines; if it isn't set, the GPU "
        "that Spark assigns to a task (spark.task.resource.gpu.amount), or else the processor",
        typeConverter=device_of,
    )
    handleInvalid: Param[str] = Param(
        Params._dummy(),
        "handleInvalid",
        "what becomes of rows with an input that is null, or an input or a prediction that isn't finite: 'error', "
        "'skip', or 'keep', which makes their predictions NaN. Nothing can be learned from such rows, so with either "
        "fit leaves them out",
        typeConverter=invalid_of,
    )
    preprocess: Param[Preprocess] = Param(
        Params._dummy(),
        "preprocess",
        "a function from a batch of rows, as a dict of arrays by the names of blobs, to the arrays that the net takes; "
        "it isn't saved",
        typeConverter=function_of,
    )

    lacks_function = False  # whether there was a preprocess when this was saved

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(bindings={}, outputs={}, classes=[], classCol="predicted_class")
        self._setDefault(vectors=False, handleInvalid=InvalidRows.ERROR.value)

    def setParams(self, **params: Any) -> Self:
        """Set several params by name."""
        for name in params:
            if not self.hasParam(name):
                names = ", ".join(param.name for param in self.params)
                raise TypeError(f"{type(self).__name__} has no param '{name}'; there are {names}")
        return self._set(**{name: value for name, value in params.items() if value is not None})

    def setBindings(self, value: Mapping[str, str]) -> Self:
        """Set the columns of blobs."""
        return self._set(bindings=value)

    def getBindings(self) -> dict[str, str]:
        """The columns of blobs."""
        return self.getOrDefault(self.bindings)

    def setOutputs(self, value: Mapping[str, str]) -> Self:
        """Set the columns that blobs become."""
        return self._set(outputs=value)

    def getOutputs(self) -> dict[str, str]:
        """The columns that blobs become."""
        return self.getOrDefault(self.outputs)

    def setPredictionCol(self, value: str) -> Self:
        """Set the name of the column with the predicted class or number; an empty name is for none."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:
        """Set the name of the column with the numbers of all classes; an empty name is for none."""
        return self._set(probabilityCol=value)

    def setClasses(self, value: Sequence[str]) -> Self:
        """Set the names of the classes."""
        return self._set(classes=value)

    def getClasses(self) -> list[str]:
        """The names of the classes."""
        return self.getOrDefault(self.classes)

    def setClassCol(self, value: str) -> Self:
        """Set the name of the column with the name of the predicted class; an empty name is for none."""
        return self._set(classCol=value)

    def getClassCol(self) -> str:
        """The column with the name of the predicted class."""
        return self.getOrDefault(self.classCol)

    def setVectors(self, value: bool) -> Self:
        """Set whether several numbers are a vector."""
        return self._set(vectors=value)

    def getVectors(self) -> bool:
        """Whether several numbers are a vector."""
        return self.getOrDefault(self.vectors)

    def setBatchSize(self, value: int) -> Self:
        """Set the number of rows that are predicted at once."""
        return self._set(batchSize=value)

    def getBatchSize(self) -> int:
        """The number of rows that are predicted at once."""
        return self.getOrDefault(self.batchSize)

    def setDevice(self, value: str) -> Self:
        """Set the device that tasks train and predict on."""
        return self._set(device=value)

    def getDevice(self) -> str:
        """The device that tasks train and predict on."""
        return self.getOrDefault(self.device)

    def setHandleInvalid(self, value: str) -> Self:
        """Set what becomes of rows that are null or not finite: 'error', 'skip' or 'keep'."""
        return self._set(handleInvalid=value)

    def getHandleInvalid(self) -> str:
        """What becomes of rows that are null or not finite."""
        return self.getOrDefault(self.handleInvalid)

    def setPreprocess(self, value: Preprocess) -> Self:
        """Set the function that is applied to rows first."""
        return self._set(preprocess=value)

    def getPreprocess(self) -> Preprocess:
        """The function that is applied to rows first."""
        return self.getOrDefault(self.preprocess)

    def function(self) -> Preprocess | None:
        """The preprocess function, if there is one; a DataError if there was one that wasn't saved."""
        if self.isDefined(self.preprocess):
            return self.getPreprocess()
        if self.lacks_function:
            raise DataError(
                f"{self.uid} was saved with a preprocess function, and functions aren't saved; give it with "
                "setPreprocess"
            )
        return None
