"""Nets in the tasks of Spark. A net is sent with its weights and built once in each process, then predicts or is
tested."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self, TypeVar

import torch
from pyspark import TaskContext
from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.files import CaffeFile, Form, write
from caffe_proto.text.prototxt import from_text
from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS
from netdsl.data.tables.arrow import arrow
from netdsl.data.tables.columns import RowRange
from netdsl.distributed.run_worker import compute_threads, worker_device
from netdsl.model.model import Model
from netdsl.model.opening import open_model, open_weights
from netdsl.model.weights.match import Weights
from netdsl.model.weights.writing import caffe_file_of
from netdsl.plugins import plugin_places
from netdsl.prediction.add_columns import ColumnAdder
from netdsl.prediction.predictor import Predictor
from netdsl.prediction.scoring import RowScore, Scorer, scoring_inputs
from netdsl.spark.cluster import assigned_gpus
from netdsl.spark.kinds import Sent, SessionKind, kind_of
from netdsl.spark.pipeline.params import net_of
from netdsl.spark.tables.elements import BATCH, element_table, with_values
from netdsl.spark.tables.parquet import query_errors

T = TypeVar("T")

WeightsSource = str | Path | CaffeFile[pb.NetParameter] | Weights
_CACHE: dict[str, object] = {}  # only the last value, for the next task in this process
_PLACE = "(place)"  # the column with the positions of elements
_FIELDS = "rows bigint, loss double, outputs map<string, array<double>>"


class ShippedNet(NamedTuple):
    """A net as prototxt, with its weights as the bytes of a caffemodel, and the modules that the user allows it to
    run."""

    net: str
    weights: bytes
    python: tuple[tuple[str, str], ...] = ()  # modules of Python layers, with their folders on the driver's machine
    plugins: tuple[tuple[str, str], ...] = ()  # likewise for plug-ins

    @classmethod
    def of(cls, net: str, weights: WeightsSource) -> Self:
        """Return a net with weights by layer, or with the weights of a file in any format."""
        if isinstance(weights, (str, Path)):
            model = open_model(from_text(net, pb.NetParameter), [weights])
            file = model.file or caffe_file_of(model.weights)
        else:
            file = weights if isinstance(weights, CaffeFile) else caffe_file_of(weights)
        with TemporaryDirectory() as folder:
            path = Path(folder, "weights.caffemodel")
            write(file, path, form=Form.BINARY)
            return cls(net, path.read_bytes())

    def sent(self, kind: SessionKind) -> SentNet:
        """Return the net for tasks of a session, with the Python modules that the user currently allows."""
        kind.run_in_this_python()
        python, plugins = PYTHON_LAYERS.places(), plugin_places()
        without_weights = self._replace(weights=b"", python=tuple(python.items()), plugins=tuple(plugins.items()))
        return SentNet(without_weights, kind.send(self.weights, f"netdsl-{token_hex(8)}"))

    def model(self) -> Model:
        """Return the net with its weights. They are mapped from a file, and stay valid after its removal."""
        with TemporaryDirectory() as folder:
            path = Path(folder, "weights.caffemodel")
            path.write_bytes(self.weights)
            return Model(from_text(self.net, pb.NetParameter), open_weights(path).weights)


@dataclass(frozen=True)
class SentNet:
    """A net whose weights were sent to the machines of tasks."""

    net: ShippedNet  # without weights
    weights: Sent

    def load(self) -> Model:
        """Return the model in a task. From now on, its process allows everything that the user allowed on the
        driver."""
        PYTHON_LAYERS.allow(dict(self.net.python))
        PLUGINS.allow(dict(self.net.plugins))
        return self.net._replace(weights=self.weights.value).model()

    def destroy(self) -> None:
        """Remove the weights from the machines."""
        self.weights.destroy()


@contextmanager
def in_task(device: str | None = None) -> Iterator[tuple[str, torch.device]]:
    """Compute with the task's number of threads. Yields the name of the task's part of the rows, and its device.

    By default this is the GPU that Spark assigned to the task, or otherwise the CPU. For a problem with the rows, Spark
    shows only its message. The variable for that is safe to set, since the task's process ends with the problem.
    """
    context = TaskContext.get()
    partition, threads = (context.partitionId(), context.cpus()) if context is not None else (0, 1)
    with compute_threads(threads):
        try:
            yield f"partition {partition}", _device_of(context, device)
        except CaffeError:
            if context is not None:
                os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # Spark reads this when it reports the end of the process
            raise


def _device_of(context: TaskContext | None, name: str | None) -> torch.device:
    gpus = assigned_gpus(context) if context is not None else ()
    requested = torch.device(name or ("cuda" if gpus else "cpu"))
    return worker_device(requested, context.partitionId() if context is not None else 0, gpus)


def once_per_process(key: str, make: Callable[[], T]) -> T:
    """Return the value of a key. The first task of a process that needs it calls `make`."""
    if key not in _CACHE:
        gc.unfreeze()
        _CACHE.clear()
        gc.collect()
        _CACHE[key] = make()
        gc.freeze()  # otherwise Spark would go through torch's many objects after each task
    return _CACHE[key]  # type: ignore[return-value] # all values of a key have one type


@dataclass(frozen=True)
class PredictionTask:
    """The settings of tasks that predict. The token identifies the model."""

    token: str
    columns: dict[str, str]  # by blob
    adder: ColumnAdder
    device: str | None = None  # the GPU that Spark assigned to the task, or otherwise the CPU, if unset

    def predict(self, sent: SentNet, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the batches with the new columns."""
        with in_task(self.device) as (part, device):
            yield from self.adder.add(self._predictor(sent, device), batches, part)

    def predict_elements(
        self, sent: SentNet, inputs: Sequence[str], vectors: Collection[str], elements: Iterable[Any]
    ) -> Iterator[Any]:
        """Yield the elements of an RDD with the new values. A tuple has values for all of `inputs`, or for the needed
        ones.

        The values of the columns in `vectors` become vectors of pyspark.ml.
        """
        with in_task(self.device) as (part, device):
            predictor = self._predictor(sent, device)
            blobs = [net_input.blob for net_input in predictor.inputs]
            names = [column.name for column in self.adder.names.columns(predictor)]
            remaining, first, chunk = iter(elements), 0, list[Any]()

            def tables() -> Iterator[Any]:
                nonlocal first, chunk
                while chunk := list(islice(remaining, BATCH)):
                    table = element_table(chunk, blobs, inputs, RowRange(part, first), self.adder.invalid)
                    yield table.append_column(_PLACE, arrow().array(range(len(chunk))))
                    first += len(chunk)

            for batch in self.adder.add(predictor, tables(), part):
                columns = [
                    map(Vectors.dense, batch.column(name).to_pylist())
                    if name in vectors
                    else batch.column(name).to_pylist()
                    for name in names
                ]
                for place, *values in zip(batch.column(_PLACE).to_pylist(), *columns, strict=True):
                    yield with_values(chunk[place], names, values)

    def _predictor(self, sent: SentNet, device: torch.device) -> Predictor:
        blobs = self.adder.names.blobs
        key = f"{self.token} {sorted(blobs)} {sorted(self.columns.items())}"
        return once_per_process(f"{key} {device}", lambda: Predictor(sent.load(), blobs, self.columns).load(device))


@dataclass(frozen=True)
class _ScoringTask:
    """The settings of tasks that test."""

    token: str
    columns: dict[str, str]
    device: str | None

    def score(self, sent: SentNet, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the sums of a partition as a row."""
        with in_task(self.device) as (part, device):
            scorer = once_per_process(f"{self.token} {device}", lambda: Scorer(sent.load(), self.columns, device))
            score = scorer.score(batches, part)
        library = arrow()
        outputs = library.map_(library.string(), library.list_(library.float64()))
        schema = library.schema([("rows", library.int64()), ("loss", library.float64()), ("outputs", outputs)])
        row = {"rows": score.rows, "loss": score.loss, "outputs": list(score.outputs.items())}
        yield library.RecordBatch.from_pylist([row], schema=schema)


def score_rows(
    frame: DataFrame,
    model: Model,
    columns: Mapping[str, str],
    device: str | None = None,
) -> RowScore:
    """Return the sums over all rows. Batches end at the ends of Spark's partitions. By default, tasks use the GPUs from
    Spark.

    Rules must not leave out layers of the net, and its data layers must state their shapes.
    """
    names = {net_input.blob.column for net_input in scoring_inputs(model, columns)}
    task = _ScoringTask(token_hex(8), dict(columns), device)
    sent = ShippedNet.of(net_of(model.net), model.weights).sent(kind_of(frame.sparkSession))
    chosen = frame.select([col(f"`{name}`") for name in sorted(names)])
    try:
        with query_errors("the table", "can't be used for tests"):
            rows = chosen.mapInArrow(lambda batches: task.score(sent, batches), _FIELDS).collect()
    finally:
        sent.destroy()
    scores = (
        RowScore(row.rows, row.loss, {name: tuple(values) for name, values in row.outputs.items()}) for row in rows
    )
    return sum(scores, RowScore())
