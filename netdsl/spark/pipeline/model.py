"""A trained net as a transformer of DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from pyspark import Broadcast, SparkContext
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, StructField, StructType

from caffe_proto import caffe_pb2 as pb
from netdsl.deploy.subgraph import PredictionSubgraph, prediction_subgraph
from netdsl.distributed.run_log import Moment
from netdsl.errors import DataError
from netdsl.net.graph import resolve_all
from netdsl.net.net import Net
from netdsl.prediction.add_columns import ColumnAdder, ColumnForm, ColumnNames, NewColumn, check_new_columns
from netdsl.spark.pipeline.param_values import Described, net_of
from netdsl.spark.pipeline.params import PredictionParams
from netdsl.spark.pipeline.persistence import ModelReader, ModelWriter
from netdsl.spark.pipeline.prediction import PredictionTask
from netdsl.spark.pipeline.shipped_net import ShippedNet, WeightsSource
from netdsl.spark.tables.store import BINDINGS
from netdsl.tables.binding import check_columns

_TYPES: Mapping[ColumnForm, DataType] = {
    ColumnForm.ARRAY: ArrayType(FloatType()),
    ColumnForm.NUMBER: FloatType(),
    ColumnForm.BEST: DoubleType(),
}


class NetModel(Model, PredictionParams, MLReadable["NetModel"], MLWritable):
    """Adds columns with what a net makes of rows: any net with weights, be it trained here or with Caffe.

    `predictionCol` has the class with the highest probability, or what a net with one output predicts;
    `probabilityCol` has the probabilities of all classes; `outputs` names columns for blobs. `history` is what training
    was like.
    """

    def __init__(
        self, net: Described, weights: WeightsSource, *, history: Sequence[Moment] = (), **params: Any
    ) -> None:
        super().__init__()
        self.history = tuple(history)
        self._shipped = ShippedNet.of(net_of(net), weights)
        self._token = token_hex(8)
        self._sending = _Sending(self._shipped)
        self.setParams(**params)

    @classmethod
    def read(cls) -> ModelReader:
        """What loads a model."""
        return ModelReader(cls)

    def write(self) -> ModelWriter:
        """What saves the model."""
        return ModelWriter(self)

    def net(self) -> Net:
        """The net by itself, to run or save it without Spark."""
        with self.files() as (net, weights):
            phase = resolve_all(self._message())[0].phase
            return Net(net, weights=weights, phase=phase)

    @contextmanager
    def files(self) -> Iterator[tuple[Path, Path]]:
        """The net's prototxt and its weights as files, for a while."""
        with TemporaryDirectory() as folder:
            net, weights = Path(folder, "net.prototxt"), Path(folder, "weights.caffemodel")
            net.write_text(self._shipped.net)
            weights.write_bytes(self._shipped.weights)
            yield net, weights

    def close(self) -> None:
        """Let executors forget the net. DataFrames that were made with it can't be computed any more."""
        self._sending.end()

    def _message(self) -> pb.NetParameter:
        return self._shipped.message()

    def _transform(self, dataset: DataFrame) -> DataFrame:
        subgraph = prediction_subgraph(self._message(), self.getOutputs())
        names = ColumnNames(self.getOutputs(), self.getPredictionCol(), self.getProbabilityCol())
        new = names.columns(subgraph)
        self._check(dataset, subgraph, new)
        batch = self.getBatchSize() if self.isDefined(self.batchSize) else subgraph.batch
        task = PredictionTask(self._token, self.getBindings(), ColumnAdder(names, batch, self.function()))
        added = [StructField(column.name, _TYPES[column.form]) for column in new]
        schema = StructType([*dataset.schema.fields, *added])
        context = dataset.sparkSession.sparkContext
        table = dataset.mapInArrow(partial(task.predict, self._sending.to(context)), schema)
        vectors = [column.name for column in new if column.form is ColumnForm.ARRAY and self.getVectors()]
        return table.withColumns({name: array_to_vector(table[name]) for name in vectors}) if vectors else table

    def _check(self, dataset: DataFrame, subgraph: PredictionSubgraph, new: Sequence[NewColumn]) -> None:
        """A DataError if columns are missing, are there already, or can't be made."""
        check_columns(dataset.columns, [net_input.blob for net_input in subgraph.needed(self.getBindings())], BINDINGS)
        check_new_columns(dataset.columns, new)
        names = [column.name for column in new]
        for param in (self.predictionCol, self.probabilityCol):
            name = self.getOrDefault(param)
            if name and self.isSet(param) and name not in names:
                raise DataError(
                    f"the net doesn't predict one of several classes for each row, so there is nothing for "
                    f"{param.name} '{name}'; set it to '' and name blobs in outputs"
                )


class _Sending:
    """A net on its way to executors, which is sent once for a model and its copies."""

    def __init__(self, shipped: ShippedNet) -> None:
        self._shipped = shipped
        self._sent: tuple[SparkContext, Broadcast[ShippedNet]] | None = None

    def to(self, context: SparkContext) -> Broadcast[ShippedNet]:
        """What tasks can ask for it."""
        if self._sent is None or self._sent[0] is not context:
            self._sent = context, context.broadcast(self._shipped)
        return self._sent[1]

    def end(self) -> None:
        """Take it back."""
        if self._sent is not None:
            self._sent[1].destroy()
            self._sent = None
