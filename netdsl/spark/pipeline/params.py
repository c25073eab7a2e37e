# ruff: noqa: N802, N815 - names as pyspark.ml has them
"""What estimators and models are told alike, as params of pyspark.ml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasPredictionCol, HasProbabilityCol

from netdsl.errors import DataError
from netdsl.prediction.net_inputs import Preprocess
from netdsl.spark.pipeline.param_values import count_of, function_of, names_of


class PredictionParams(HasPredictionCol, HasProbabilityCol):
    """Where a net's inputs are found, and where what it makes goes."""

    bindings: Param[dict[str, str]] = Param(
        Params._dummy(),
        "bindings",
        "the columns of the blobs that come from outside; one that isn't named has the column of its own name",
        typeConverter=names_of,
    )
    outputs: Param[dict[str, str]] = Param(
        Params._dummy(), "outputs", "the columns that a model adds with the values of blobs", typeConverter=names_of
    )
    vectors: Param[bool] = Param(
        Params._dummy(),
        "vectors",
        "whether several numbers are a vector of pyspark.ml, as evaluators want them, and not an array",
        typeConverter=TypeConverters.toBoolean,
    )
    batchSize: Param[int] = Param(
        Params._dummy(),
        "batchSize",
        "rows that a model predicts at once; as many as the net was made for if it isn't set",
        typeConverter=count_of,
    )
    preprocess: Param[Preprocess] = Param(
        Params._dummy(),
        "preprocess",
        "a function from a batch of rows, as a dict of arrays by the names of blobs, to what the net is given instead; "
        "it isn't saved",
        typeConverter=function_of,
    )

    lacks_function = False  # whether there was a preprocess when this was saved

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(bindings={}, outputs={}, vectors=False)

    def setParams(self, **params: Any) -> Self:
        """Set several at once, by name."""
        for name in params:
            if not self.hasParam(name):
                names = ", ".join(param.name for param in self.params)
                raise TypeError(f"{type(self).__name__} has no param '{name}'; there are {names}")
        return self._set(**{name: value for name, value in params.items() if value is not None})

    def setBindings(self, value: Mapping[str, str]) -> Self:
        """Say which columns the blobs are."""
        return self._set(bindings=value)

    def getBindings(self) -> dict[str, str]:
        """The columns of blobs."""
        return self.getOrDefault(self.bindings)

    def setOutputs(self, value: Mapping[str, str]) -> Self:
        """Say which blobs become which columns."""
        return self._set(outputs=value)

    def getOutputs(self) -> dict[str, str]:
        """The columns that blobs become."""
        return self.getOrDefault(self.outputs)

    def setPredictionCol(self, value: str) -> Self:
        """Name the column of the class, or of the number, that is predicted; an empty name is for none."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:
        """Name the column of the numbers for all classes; an empty name is for none."""
        return self._set(probabilityCol=value)

    def setVectors(self, value: bool) -> Self:
        """Say whether several numbers are a vector."""
        return self._set(vectors=value)

    def getVectors(self) -> bool:
        """Whether several numbers are a vector."""
        return self.getOrDefault(self.vectors)

    def setBatchSize(self, value: int) -> Self:
        """Say how many rows are predicted at once."""
        return self._set(batchSize=value)

    def getBatchSize(self) -> int:
        """How many rows are predicted at once."""
        return self.getOrDefault(self.batchSize)

    def setPreprocess(self, value: Preprocess) -> Self:
        """Give the function that rows go through first."""
        return self._set(preprocess=value)

    def getPreprocess(self) -> Preprocess:
        """The function that rows go through first."""
        return self.getOrDefault(self.preprocess)

    def function(self) -> Preprocess | None:
        """The same, if there is one; a DataError if there was one that wasn't saved."""
        if self.isDefined(self.preprocess):
            return self.getPreprocess()
        if self.lacks_function:
            raise DataError(
                f"{self.uid} was saved with a preprocess function, and functions aren't saved; give it with "
                "setPreprocess"
            )
        return None
