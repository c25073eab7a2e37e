"""The model of pyspark.ml that adds a trained net's predictions to DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from pyspark import RDD
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.util import DefaultParamsReader, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, StringType, StructField, StructType

from netdsl.data.tables.table import check_columns
from netdsl.distributed.run_log import Moment
from netdsl.errors import DataError
from netdsl.model.model import Model as OpenedModel
from netdsl.net.build import warn_of_doubts
from netdsl.prediction.add_columns import ColumnAdder, ColumnForm, ColumnNames, NewColumn, check_new_columns
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.net_inputs import inputs_of
from netdsl.prediction.predictor import Predictor
from netdsl.spark.kinds import kind_of
from netdsl.spark.pipeline.params import NetDescription, PredictionParams, net_of
from netdsl.spark.pipeline.persistence import save_params, set_params
from netdsl.spark.pipeline.tasks import PredictionTask, SentNet, ShippedNet, WeightsSource
from netdsl.spark.tables.store import BINDINGS
from netdsl.training.net import Net

_TYPES: Mapping[ColumnForm, DataType] = {
    ColumnForm.ARRAY: ArrayType(FloatType()),
    ColumnForm.NUMBER: FloatType(),
    ColumnForm.BEST: DoubleType(),
    ColumnForm.NAME: StringType(),
}
_FILES = ("net.prototxt", "weights.caffemodel")  # in the folder of a saved model


class NetModel(Model, PredictionParams, MLReadable["NetModel"], MLWritable):
    """Adds columns of predictions to a table, with any net that has weights, whether trained here or with Caffe.

    `predictionCol` contains the class with the highest probability, or the value that a net with one output predicts.
    `probabilityCol` contains the probabilities of all classes. `classCol` contains the class's name if `classes` names
    the classes. `outputs` names columns for blobs. `history` contains the displayed values and the tests of the
    training.
    """

    def __init__(
        self, net: NetDescription, weights: WeightsSource, *, history: Sequence[Moment] = (), **params: Any
    ) -> None:
        super().__init__()
        self.history = tuple(history)
        self._shipped = ShippedNet.of(net_of(net), weights)
        self._token = token_hex(8)
        self._sending = _Sending(self._shipped)
        self.setParams(**params)

    @classmethod
    def read(cls) -> ModelReader:
        """Return the reader of saved models."""
        return ModelReader(cls)

    def write(self) -> ModelWriter:
        """Return the writer that saves the model."""
        return ModelWriter(self)

    def net(self) -> Net:
        """Return the net itself, which runs and is saved without Spark."""
        with self.files() as (net, weights):
            return Net(net, weights=weights, phase=self._opened.phases[0])

    @contextmanager
    def files(self) -> Iterator[tuple[Path, Path]]:
        """Write the net's prototxt and its weights to files, which are removed afterwards."""
        with TemporaryDirectory() as folder:
            net, weights = Path(folder, "net.prototxt"), Path(folder, "weights.caffemodel")
            net.write_text(self._shipped.net)
            weights.write_bytes(self._shipped.weights)
            yield net, weights

    def close(self) -> None:
        """Remove the net from the executors. DataFrames that use it can't be computed afterwards."""
        self._sending.undo()

    @cached_property
    def _opened(self) -> OpenedModel:
        return self._shipped.model()

    def transform(self, dataset: Any, params: Any = None) -> Any:
        """Return the rows of a DataFrame with the new columns, or the elements of an RDD with the new values.

        Elements are the same as for `fit`. A row or a dict receives the values under the columns' names. Any other
        element becomes a tuple with the values at its end.
        """
        if not isinstance(dataset, RDD):
            return super().transform(dataset, params)
        return self.copy(params)._transform_elements(dataset) if params else self._transform_elements(dataset)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        predictor, new_columns, task = self._prediction()
        self._check_columns(dataset, predictor, new_columns)
        new_fields = [StructField(column.name, _TYPES[column.form]) for column in new_columns]
        schema = StructType([*dataset.schema.fields, *new_fields])
        table = dataset.mapInArrow(partial(task.predict, self._sending.to(dataset.sparkSession)), schema)
        names = self._vector_names(new_columns)
        return table.withColumns({name: array_to_vector(table[name]) for name in names}) if names else table

    def _transform_elements(self, elements: RDD[Any]) -> RDD[Any]:
        predictor, new_columns, task = self._prediction()
        check_new_columns((), new_columns)
        self._check_predictions(predictor, new_columns)
        inputs = [net_input.blob.name for net_input in inputs_of(self._opened.graphs[0], self.getBindings())]
        sent = self._sending.to(SparkSession.builder.getOrCreate())
        return elements.mapPartitions(
            partial(task.predict_elements, sent, inputs, self._vector_names(new_columns)), preservesPartitioning=True
        )

    def _prediction(self) -> tuple[Predictor, list[NewColumn], PredictionTask]:
        """Return the predictor, the columns that it fills, and the tasks that run it."""
        predictor = Predictor(self._opened, self.getOutputs(), self.getBindings())
        warn_of_doubts(predictor.built)  # on the driver, since warnings in tasks aren't shown
        names = self._column_names()
        batch = self.getBatchSize() if self.isDefined(self.batchSize) else predictor.batch
        adder = ColumnAdder(names, batch, self.function(), InvalidRows(self.getHandleInvalid()))
        device = self.getDevice() if self.isDefined(self.device) else None
        return predictor, names.columns(predictor), PredictionTask(self._token, self.getBindings(), adder, device)

    def _vector_names(self, columns: Sequence[NewColumn]) -> list[str]:
        """Return the names of the columns that contain vectors."""
        return [column.name for column in columns if column.form is ColumnForm.ARRAY and self.getVectors()]

    def _column_names(self) -> ColumnNames:
        blobs, classes = self.getOutputs(), tuple(self.getClasses())
        return ColumnNames(blobs, self.getPredictionCol(), self.getProbabilityCol(), self.getClassCol(), classes)

    def _check_columns(self, dataset: DataFrame, predictor: Predictor, new_columns: Sequence[NewColumn]) -> None:
        """Raise a `DataError` if columns are missing, exist already, or can't be computed."""
        check_columns(dataset.columns, [net_input.blob for net_input in predictor.inputs], BINDINGS)
        check_new_columns(dataset.columns, new_columns)
        self._check_predictions(predictor, new_columns)

    def _check_predictions(self, predictor: Predictor, new_columns: Sequence[NewColumn]) -> None:
        """Raise a `DataError` if the net doesn't predict what the params request."""
        classes = predictor.classes()
        if classes > 1 and len(self.getClasses()) not in (0, classes):
            raise DataError(
                f"the net predicts {classes} classes, but the param classes names {len(self.getClasses())}; "
                "name one for each of the net's outputs, in their order"
            )
        names = [column.name for column in new_columns]
        for param in (self.predictionCol, self.probabilityCol):
            name = self.getOrDefault(param)
            if name and self.isSet(param) and name not in names:
                raise DataError(
                    f"the net doesn't predict one of several classes for each row, so {param.name} '{name}' "
                    "would have no values; set it to '' and name blobs in outputs"
                )


class _Sending:
    """The sending of a net to the machines of tasks, which a model and its copies share."""

    def __init__(self, shipped: ShippedNet) -> None:
        self._shipped = shipped
        self._current: tuple[SparkSession, SentNet] | None = None

    def to(self, session: SparkSession) -> SentNet:
        """Return the net for the tasks of a session."""
        if self._current is None or self._current[0] is not session:
            self._current = session, self._shipped.sent(kind_of(session))
        return self._current[1]

    def undo(self) -> None:
        """Remove the net from the machines."""
        if self._current is not None:
            self._current[1].destroy()
            self._current = None


class ModelWriter(MLWriter):
    """Saves a model."""

    def __init__(self, model: NetModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802 - as Spark calls it
        """Save the model in a folder, with the net and its weights as Caffe's files."""
        history = [asdict(moment) for moment in self._model.history]
        save_params(self._model, path, self.sparkSession, history=history)
        with self._model.files() as files:
            for file, name in zip(files, _FILES, strict=True):
                kind_of(self.sparkSession).upload(file, f"{path}/{name}")


class ModelReader(MLReader["NetModel"]):
    """Loads a model."""

    def __init__(self, kind: type[NetModel]) -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> NetModel:
        """Return the model that was saved in a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        history = [Moment(**moment) for moment in metadata["history"]]
        with TemporaryDirectory() as folder:
            files = [Path(folder, name) for name in _FILES]
            for file in files:
                kind_of(self.sparkSession).download(f"{path}/{file.name}", file)
            model = self._kind(*files, history=history)
        set_params(model, metadata)
        return model
