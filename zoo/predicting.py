"""What `zoo predict` and `zoo features` do: a table with columns added, here or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from netdsl.deploy.subgraph import prediction_subgraph
from netdsl.errors import DataError, NetError
from netdsl.model import Model, open_model
from netdsl.prediction.add_columns import ColumnAdder, ColumnNames, check_new_columns
from netdsl.prediction.infer_shapes import infer_shapes
from netdsl.prediction.net_inputs import NetInput
from netdsl.prediction.predictor import Predictor
from netdsl.tables.binding import check_columns
from netdsl.tables.files import TableFiles, TableFormat, table_of
from netdsl.tables.writing import write_parquet
from zoo.backends import HERE, LocalBackend, SparkBackend

COLUMN = "--column {}=COLUMN"  # how another column is named

Progress = Callable[[int], AbstractContextManager[Callable[[int], object]]]


@dataclass(frozen=True)
class PredictRequest:
    """Which net makes which new columns, from which rows, and the file or folder that they go to."""

    net: str
    data: str
    output: str
    names: ColumnNames
    weights: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)  # of blobs
    batch: int | None = None  # as many rows as the net was made for


def predict(request: PredictRequest, progress: Progress, backend: LocalBackend | SparkBackend = HERE) -> None:
    """Write the table with its new columns, all of it or nothing."""
    table = table_of(request.data)
    if table is None:
        command = f"zoo data convert {request.data} rows.parquet"
        raise DataError(f"{request.data}: is no table of Parquet or Arrow; `{command}` makes one of it")
    model = open_model(request.net, request.weights)
    try:
        if isinstance(backend, SparkBackend):
            _on_spark(request, model, parquet_of(request.data), backend)
        else:
            _here(request, model, TableFiles(*table), progress)
    except NetError as problem:
        raise type(problem)(f"{request.net}: {problem}") from None


def parquet_of(data: str) -> str:
    """The path of a table that Spark reads."""
    kind, path = table_of(data) or (None, data)
    if kind is not TableFormat.PARQUET:
        raise DataError(f"{data}: on Spark a table is Parquet, parquet:PATH; `zoo data convert` makes it of other data")
    return path


def _here(request: PredictRequest, model: Model, table: TableFiles, progress: Progress) -> None:
    inputs = _inputs(request, model, table.schema.names)
    net = infer_shapes(model.net, table.first(), inputs)
    predictor = Predictor(net, model.weights, request.names.blobs, request.columns)
    adder = ColumnAdder(request.names, request.batch or predictor.head.batch)
    rows = chain([table.none()], table.batches(adder.batch))  # which says the columns where there are no rows
    with progress(len(table)) as done:
        write_parquet(Path(request.output), adder.add(predictor, rows, request.data), done)


def _inputs(request: PredictRequest, model: Model, names: Sequence[str]) -> list[NetInput]:
    """What the net needs of a table, which must have it, and not yet the new columns."""
    head = prediction_subgraph(model.net, request.names.blobs)
    inputs, made = head.needed(request.columns), request.names.columns(head)
    if not made:
        raise NetError("doesn't predict something for each row; `zoo features` makes columns of its blobs")
    check_columns(names, [each.blob for each in inputs], COLUMN)
    check_new_columns(names, made)
    return inputs


def _on_spark(request: PredictRequest, model: Model, path: str, backend: SparkBackend) -> None:
    with backend.session() as session:
        from netdsl.spark import NetModel
        from netdsl.spark.tables import parquet  # only now it is known that Spark is there

        frame = parquet.read(session, path)
        inputs = _inputs(request, model, frame.columns)
        net = infer_shapes(model.net, parquet.sample(frame, [each.blob.column for each in inputs]), inputs)
        predicting = NetModel(net, model.weights, bindings=request.columns, outputs=request.names.blobs)
        predicting.setPredictionCol(request.names.prediction).setProbabilityCol(request.names.probability)
        if request.batch:
            predicting.setBatchSize(request.batch)
        parquet.write(session, predicting.transform(frame), request.output)
