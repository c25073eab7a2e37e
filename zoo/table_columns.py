"""Tables with new columns by `zoo predict` and `zoo features`, computed here or on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from caffe_proto.errors import in_file
from netdsl.data.sources.table_files import TableFiles, TableFormat, table_of
from netdsl.data.tables.arrow import write_parquet
from netdsl.data.tables.table import check_columns
from netdsl.errors import DataError, NetError
from netdsl.model.data_shapes import read_data
from netdsl.model.model import Model
from netdsl.model.opening import match_names, open_model
from netdsl.prediction.add_columns import ColumnAdder, ColumnNames, check_new_columns
from netdsl.prediction.infer_shapes import infer_shapes
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.predictor import Predictor
from netdsl.solver.events import Notice, WeightsLoaded
from netdsl.spark.backend import SparkBackend
from netdsl.training.backends import LocalBackend
from zoo.devices import one_device, remote_devices_of
from zoo.names import classes_of_model
from zoo.requests.events import Listen, work
from zoo.requests.groups import OnSpark
from zoo.requests.request import answers
from zoo.requests.results import KnowsData
from zoo.requests.using import FeaturesRequest, PredictRequest

if TYPE_CHECKING:
    import torch

COLUMN = "--column {}=COLUMN"  # how a user names another column
TableRequest = PredictRequest | FeaturesRequest


@dataclass(frozen=True)
class AddedColumns(KnowsData):
    """The file or folder that was written, and the blobs that became columns."""

    output: str
    columns: tuple[str, ...] = ()


@answers(FeaturesRequest)
def features(request: FeaturesRequest, listen: Listen) -> AddedColumns:
    """Write a table with columns of blobs; on an error nothing is written."""
    names = ColumnNames({blob: blob for blob in request.blobs}, prediction="", probability="")
    return add_columns(request, request.data, names, listen)


def add_columns(request: TableRequest, rows: str, names: ColumnNames, listen: Listen) -> AddedColumns:
    """Write a table with new columns, here or by tasks of Spark; on an error nothing is written."""
    table = table_of(rows)
    if table is None:
        command = f"zoo data convert {rows} rows.parquet"
        raise DataError(f"{rows}: isn't a table of Parquet or Arrow; `{command}` makes one of it")
    adding = _Adding(request, str(request.output), rows, names, listen)
    backend, device = table_place(request, listen)
    model = open_model(request.net, request.weights, deployed=True, dialect=request.dialect)
    try:
        if isinstance(backend, SparkBackend):
            predictor = adding.on_spark(model, parquet_of(rows), backend, device)
        else:
            predictor = adding.here(model, TableFiles(*table), device)
    except NetError as problem:
        raise type(problem)(in_file(request.net, problem)) from None
    return AddedColumns(adding.output, tuple(names.blobs), data=read_data(predictor.built))


def table_place(request: OnSpark, listen: Listen) -> tuple[LocalBackend | SparkBackend, torch.device | None]:
    """Return the backend that computes a table's rows, and the device: the named one, or the first GPU of this process.

    On Spark it is looked for where the tasks are, and without a name Spark's settings say which it is.
    """
    name: str | None = getattr(request, "device", None)
    if request.backend != SparkBackend.name:
        return LocalBackend(), one_device(name, listen)
    return SparkBackend(request.master, request.workers), None if name is None else remote_devices_of(name)[0]


def parquet_of(data: str) -> str:
    """Return the path of a table that Spark reads."""
    kind, path = table_of(data) or (None, data)
    if kind is not TableFormat.PARQUET:
        raise DataError(f"{data}: on Spark a table is Parquet, parquet:PATH; `zoo data convert` makes it of other data")
    return path


@dataclass(frozen=True)
class _Adding:
    """The columns that are added to the rows of a table."""

    request: TableRequest
    output: str
    rows: str
    names: ColumnNames
    listen: Listen

    @property
    def invalid(self) -> InvalidRows:
        """What becomes of rows whose values or predictions aren't finite."""
        return InvalidRows(self.request.invalid or InvalidRows.ERROR)

    def here(self, model: Model, table: TableFiles, device: torch.device | None) -> Predictor:
        """Add them in this process."""
        predictor = self._predictor(model, table.schema.names)
        predictor.take_items(infer_shapes(table.first(), predictor.inputs))
        names = self._new_columns(predictor, table.schema.names)
        predictor.load(device or "cpu")
        self._tell_weights(model, predictor)
        adder = ColumnAdder(names, self.request.batch or predictor.batch, invalid=self.invalid)
        # The first batch has the columns even if there are no rows.
        batches = chain([table.none()], table.batches(adder.batch))
        with work(self.listen, "", len(table)) as advance:
            write_parquet(Path(self.output), adder.add(predictor, batches, self.rows), advance)
        return predictor

    def on_spark(self, model: Model, path: str, backend: SparkBackend, device: torch.device | None) -> Predictor:
        """Add them in tasks of Spark."""
        with backend.session() as session:
            from netdsl.spark import NetModel
            from netdsl.spark.tables import parquet  # needs pyspark, which the session has checked

            frame = parquet.read(session, path)
            predictor = self._predictor(model, frame.columns)
            sample = parquet.sample(frame, [net_input.blob.column for net_input in predictor.inputs])
            items = infer_shapes(sample, predictor.inputs)
            predictor.take_items(items)
            names, net = self._new_columns(predictor, frame.columns), model.with_items(items).net
            net_model = NetModel(net, model.weights, bindings=self.request.columns, outputs=self.names.blobs)
            self._tell_weights(model, predictor)
            net_model.setPredictionCol(names.prediction).setProbabilityCol(names.probability)
            net_model.setClassCol(names.predicted_class).setClasses(names.classes)
            net_model.setHandleInvalid(self.invalid.value)
            if device is not None:
                net_model.setDevice(str(device))
            if self.request.batch:
                net_model.setBatchSize(self.request.batch)
            parquet.write(session, net_model.transform(frame), self.output)
        return predictor

    def _tell_weights(self, model: Model, predictor: Predictor) -> None:
        self.listen(WeightsLoaded(model.files, match_names(model, predictor.built)))

    def _predictor(self, model: Model, names: Sequence[str]) -> Predictor:
        """Return what predicts; an error if the table lacks the columns of its inputs."""
        predictor = Predictor(model, self.names.blobs, self.request.columns)
        check_columns(names, [net_input.blob for net_input in predictor.inputs], COLUMN)
        return predictor

    def _new_columns(self, predictor: Predictor, names: Sequence[str]) -> ColumnNames:
        """Return the names of new columns; an error if nothing is predicted for a row, or the table has such a
        column."""
        made = self._with_classes(predictor.classes())
        columns = made.columns(predictor)
        if not columns:
            raise NetError("doesn't predict something for each row; `zoo features` makes columns of its blobs")
        check_new_columns(names, columns)
        return made

    def _with_classes(self, outputs: int) -> ColumnNames:
        """Return the new columns with the names of the classes that the model was trained on, where these are known."""
        if not self.names.predicted_class or outputs < 2:
            return self.names
        net = self.request.net
        classes = classes_of_model(net, self.request.weights)
        if len(classes) not in (0, outputs):
            text = f"{net}: predicts {outputs} classes; names of {len(classes)} lie beside it, which aren't used"
            self.listen(Notice(text))
            return self.names
        return replace(self.names, classes=classes)
