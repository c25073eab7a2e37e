"""What a task does to predict: Arrow's batches of rows in, the same with columns of predictions out."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pyspark import TaskContext

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.data.arrow import arrow
from netdsl.data.reading import Random
from netdsl.data.source import Array
from netdsl.distributed.opening import computing
from netdsl.distributed.spark.blobs import Preprocess, preprocessed
from netdsl.distributed.spark.columns import Rows, array_of
from netdsl.distributed.spark.head import Head
from netdsl.distributed.spark.predictor import Predictor

if TYPE_CHECKING:
    from pyspark import Broadcast


class Shipped(NamedTuple):
    """A net and its weights, as files have them."""

    net: str
    weights: bytes


class Form(Enum):
    """What a column has of a row's values."""

    ARRAY = "array"
    NUMBER = "number"
    BEST = "best"  # the place of the largest, or the value if there is but one: what pyspark.ml calls a prediction


class Made(NamedTuple):
    """A new column: of which edge, and in which form."""

    column: str
    edge: int
    form: Form


@dataclass(frozen=True)
class Wanted:
    """The new columns: those of some blobs, and if they have a name that of the prediction and its probabilities."""

    blobs: dict[str, str]
    prediction: str
    probability: str

    def made(self, head: Head) -> list[Made]:
        """What can be made; probabilities are there if there are several."""
        found = [
            Made(column, head.outputs[blob], Form.NUMBER if head.values(head.outputs[blob]) == 1 else Form.ARRAY)
            for blob, column in self.blobs.items()
        ]
        if head.prediction is not None and head.classes() > 1 and self.probability:
            found.append(Made(self.probability, head.prediction, Form.ARRAY))
        if head.prediction is not None and head.classes() and self.prediction:
            found.append(Made(self.prediction, head.prediction, Form.BEST))
        return found


@dataclass(frozen=True)
class Prediction:
    """What a task is told. The token tells one model from another."""

    token: str
    wanted: Wanted
    columns: dict[str, str]  # of blobs
    batch: int  # rows at once
    preprocess: Preprocess | None

    def predict(self, shipped: Broadcast[Shipped], batches: Iterable[Any]) -> Iterator[Any]:
        """The batches with the new columns."""
        predictor = _kept(self, shipped)
        context, random, first = TaskContext.get(), np.random.default_rng(0), 0
        partition, threads = (context.partitionId(), context.cpus()) if context is not None else (0, 1)
        with computing(threads):
            for batch in batches:
                for start in range(0, max(1, batch.num_rows), self.batch):
                    rows = batch.slice(start, self.batch)
                    yield self._widened(predictor, rows, Rows("", partition, first + start), random)
                first += batch.num_rows

    def _widened(self, predictor: Predictor, batch: Any, rows: Rows, random: Random) -> Any:
        made = self.wanted.made(predictor.head)
        if not batch.num_rows:
            return _with(batch, {each.column: _column(np.zeros((0, 1), np.float32), each.form) for each in made})
        blobs = [each.blob for each in predictor.inputs]
        arrays = {blob.name: array_of(batch.column(blob.column), blob.shape, rows.of(blob.column)) for blob in blobs}
        found = predictor(preprocessed(arrays, blobs, self.preprocess), random)
        return _with(batch, {each.column: _column(found[each.edge], each.form) for each in made})


def _with(batch: Any, columns: dict[str, Any]) -> Any:
    names = [*batch.schema.names, *columns]
    return arrow().RecordBatch.from_arrays([*batch.columns, *columns.values()], names=names)


def _column(values: Array, form: Form) -> Any:
    rows = values.reshape(len(values), math.prod(values.shape[1:]))
    if form is Form.ARRAY:
        ends = np.arange(len(rows) + 1) * rows.shape[1]
        return arrow().ListArray.from_arrays(ends.astype(np.int32), rows.ravel())
    if form is Form.BEST:
        best = rows.argmax(1) if rows.shape[1] > 1 else rows[:, 0]
        return arrow().array(best.astype(np.float64))
    return arrow().array(rows[:, 0])


_KEEPING: dict[tuple[str, str], Predictor] = {}  # the last one; the next task in this process has it ready


def _kept(prediction: Prediction, shipped: Broadcast[Shipped]) -> Predictor:
    """The predictor of a model, which a process makes once."""
    key = prediction.token, str((sorted(prediction.wanted.blobs), sorted(prediction.columns.items())))
    if key not in _KEEPING:
        gc.unfreeze()
        _KEEPING.clear()
        gc.collect()
        net = from_text(shipped.value.net, pb.NetParameter)
        _KEEPING[key] = Predictor(net, shipped.value.weights, prediction.wanted.blobs, prediction.columns)
        gc.freeze()  # torch has many objects, which Spark would look through after each task
    return _KEEPING[key]
