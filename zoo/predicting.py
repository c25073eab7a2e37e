"""Predictions by `zoo predict` and `zoo features`: a table with new columns, computed here or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from caffe_proto.errors import in_file
from netdsl.data.sources.table_files import TableFiles, TableFormat, table_of
from netdsl.data.tables.arrow import write_parquet
from netdsl.data.tables.table import check_columns
from netdsl.errors import DataError, NetError
from netdsl.model.data_shapes import DataShape, read_data
from netdsl.model.model import Model
from netdsl.model.opening import match_names, open_model
from netdsl.prediction.add_columns import ColumnAdder, ColumnNames, check_new_columns
from netdsl.prediction.infer_shapes import infer_shapes
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.predictor import Predictor
from netdsl.solver.events import Listener, Notice, WeightsLoaded
from netdsl.solver.solver import ignore_event
from netdsl.spark.backend import SparkBackend
from netdsl.training.backends import HERE, LocalBackend
from zoo.names import classes_of_model

if TYPE_CHECKING:
    import torch

COLUMN = "--column {}=COLUMN"  # how a user names another column

Progress = Callable[[int], AbstractContextManager[Callable[[int], object]]]


@dataclass(frozen=True)
class PredictRequest:
    """A request to add columns: the net, the rows, the names of new columns, and the file or folder to write."""

    net: str
    data: str
    output: str
    names: ColumnNames
    weights: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)  # of blobs
    batch: int | None = None  # rows; if unset, as many as the net states
    invalid: InvalidRows = InvalidRows.ERROR  # rows whose values or predictions aren't finite
    dialect: str | None = None
    device: torch.device | None = None  # if unset, the processor, or the GPUs that Spark assigns to its tasks


def predict(
    request: PredictRequest,
    progress: Progress,
    backend: LocalBackend | SparkBackend = HERE,
    *,
    listen: Listener = ignore_event,
) -> Mapping[str, DataShape]:
    """Write a table with new columns; on an error nothing is written. Returns what is known of the net's data."""
    table = table_of(request.data)
    if table is None:
        command = f"zoo data convert {request.data} rows.parquet"
        raise DataError(f"{request.data}: is no table of Parquet or Arrow; `{command}` makes one of it")
    model = open_model(request.net, request.weights, deployed=True, dialect=request.dialect)
    try:
        if isinstance(backend, SparkBackend):
            return read_data(_on_spark(request, model, parquet_of(request.data), backend, listen).built)
        return read_data(_here(request, model, TableFiles(*table), progress, listen).built)
    except NetError as problem:
        raise type(problem)(in_file(request.net, problem)) from None


def parquet_of(data: str) -> str:
    """The path of a table that Spark reads."""
    kind, path = table_of(data) or (None, data)
    if kind is not TableFormat.PARQUET:
        raise DataError(f"{data}: on Spark a table is Parquet, parquet:PATH; `zoo data convert` makes it of other data")
    return path


def _here(
    request: PredictRequest,
    model: Model,
    table: TableFiles,
    progress: Progress,
    listen: Listener,
) -> Predictor:
    predictor = _predictor(request, model, table.schema.names)
    predictor.take_items(infer_shapes(table.first(), predictor.inputs))
    names = _new_columns(request, predictor, table.schema.names, listen)
    predictor.load(request.device or "cpu")
    _tell_weights(model, predictor, listen)
    adder = ColumnAdder(names, request.batch or predictor.batch, invalid=request.invalid)
    rows = chain(
        [table.none()], table.batches(adder.batch)
    )  # the first batch has the columns even if there are no rows
    with progress(len(table)) as advance:
        write_parquet(Path(request.output), adder.add(predictor, rows, request.data), advance)
    return predictor


def _tell_weights(model: Model, predictor: Predictor, listen: Listener) -> None:
    listen(WeightsLoaded(model.files, match_names(model, predictor.built)))


def _predictor(request: PredictRequest, model: Model, names: Sequence[str]) -> Predictor:
    """What predicts; an error if the table lacks the columns of its inputs."""
    predictor = Predictor(model, request.names.blobs, request.columns)
    check_columns(names, [net_input.blob for net_input in predictor.inputs], COLUMN)
    return predictor


def _new_columns(request: PredictRequest, predictor: Predictor, names: Sequence[str], listen: Listener) -> ColumnNames:
    """The names of new columns; an error if nothing is predicted for a row, or the table has such a column already."""
    made = _with_classes(request, predictor.classes(), listen)
    columns = made.columns(predictor)
    if not columns:
        raise NetError("doesn't predict something for each row; `zoo features` makes columns of its blobs")
    check_new_columns(names, columns)
    return made


def _with_classes(request: PredictRequest, outputs: int, listen: Listener) -> ColumnNames:
    """The new columns with the names of the classes that the model was trained on, where these are known."""
    if not request.names.predicted_class or outputs < 2:
        return request.names
    classes = classes_of_model(request.net, request.weights)
    if len(classes) not in (0, outputs):
        text = f"{request.net}: predicts {outputs} classes; names of {len(classes)} lie beside it, which aren't used"
        listen(Notice(text))
        return request.names
    return replace(request.names, classes=classes)


def _on_spark(request: PredictRequest, model: Model, path: str, backend: SparkBackend, listen: Listener) -> Predictor:
    with backend.session() as session:
        from netdsl.spark import NetModel
        from netdsl.spark.tables import parquet  # needs pyspark, which the session has checked

        frame = parquet.read(session, path)
        predictor = _predictor(request, model, frame.columns)
        rows = parquet.sample(frame, [net_input.blob.column for net_input in predictor.inputs])
        items = infer_shapes(rows, predictor.inputs)
        predictor.take_items(items)
        names, net = _new_columns(request, predictor, frame.columns, listen), model.with_items(items).net
        net_model = NetModel(net, model.weights, bindings=request.columns, outputs=request.names.blobs)
        _tell_weights(model, predictor, listen)
        net_model.setPredictionCol(names.prediction).setProbabilityCol(names.probability)
        net_model.setClassCol(names.predicted_class).setClasses(names.classes)
        net_model.setHandleInvalid(request.invalid.value)
        if request.device is not None:
            net_model.setDevice(str(request.device))
        if request.batch:
            net_model.setBatchSize(request.batch)
        parquet.write(session, net_model.transform(frame), request.output)
    return predictor
