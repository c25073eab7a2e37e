"""Tables with new columns for `zoo predict` and `zoo features`, computed here or on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

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
from zoo.answers.answerer import AnswererRequest, stated_output
from zoo.answers.outputs import NetOutput
from zoo.devices import one_device, remote_devices_of
from zoo.names import classes_of_model, described_model, problem_of_model
from zoo.requests.events import Listen, work
from zoo.requests.groups import OnSpark
from zoo.requests.request import answers
from zoo.requests.results import KnowsData
from zoo.requests.using import FeaturesRequest, PredictRequest, View

if TYPE_CHECKING:
    import torch

COLUMN = "--column {}=COLUMN"  # the option with which a user names another column
TableRequest = PredictRequest | FeaturesRequest


@dataclass(frozen=True)
class AddedColumns(KnowsData):
    """The written file or folder, and the blobs that became columns."""

    output: str
    columns: tuple[str, ...] = ()


@answers(FeaturesRequest)
def features(request: FeaturesRequest, listen: Listen) -> AddedColumns:
    """Write a table with blobs as columns. After an error, nothing is written."""
    names = ColumnNames({blob: blob for blob in request.blobs}, prediction="", probability="")
    return add_columns(request, request.data, names, listen)


def add_columns(request: TableRequest, rows: str, names: ColumnNames, listen: Listen) -> AddedColumns:
    """Write a table with new columns, computed here or in Spark tasks. After an error, nothing is written."""
    table = table_of(rows)
    if table is None:
        command = f"zoo data convert {rows} rows.parquet"
        raise DataError(f"{rows}: not a Parquet or Arrow table; convert it with `{command}`")
    adding = _Adding(request, str(request.output), rows, names, listen)
    backend, device = table_place(request, listen)
    model = open_model(request.net, request.weights, deployed=True, dialect=request.dialect)
    try:
        if isinstance(backend, SparkBackend):
            predictor = adding.on_spark(model, parquet_of(rows), backend, device)
        else:
            predictor = adding.here(model, TableFiles(*table), device)
    except NetError as problem:
        raise type(problem)(problem_of_model(request.net, problem, request.weights)) from None
    return AddedColumns(adding.output, tuple(names.blobs), data=read_data(predictor.built))


def table_place(request: OnSpark, listen: Listen) -> tuple[LocalBackend | SparkBackend, torch.device | None]:
    """Return the backend that computes a table's rows, and the device: the named one, or the first GPU of this process.

    On Spark, each task finds the device. Without a name, Spark's settings select it.
    """
    name: str | None = getattr(request, "device", None)
    if request.backend != SparkBackend.name:
        return LocalBackend(), one_device(name, listen)
    backend = SparkBackend(request.master, request.workers, request.remote)
    return backend, None if name is None else remote_devices_of(name)[0]


def parquet_of(data: str) -> str:
    """Return the path of a table for Spark."""
    kind, path = table_of(data) or (None, data)
    if kind is not TableFormat.PARQUET:
        raise DataError(
            f"{data}: Spark reads only Parquet tables, parquet:PATH; convert other data with `zoo data convert`"
        )
    return path


@dataclass(frozen=True)
class _Adding:
    """The columns to add to the rows of a table."""

    request: TableRequest
    output: str
    rows: str
    names: ColumnNames
    listen: Listen

    @property
    def invalid(self) -> InvalidRows:
        """The treatment of rows whose values or predictions aren't finite."""
        return InvalidRows(self.request.invalid or InvalidRows.ERROR)

    def here(self, model: Model, table: TableFiles, device: torch.device | None) -> Predictor:
        """Add the columns in this process."""
        predictor = self._predictor(model, table.schema.names)
        items = infer_shapes(table.first(), predictor.inputs)
        predictor.take_items(items)
        as_read = self._as_read(model, predictor)
        if as_read is not self:
            predictor = as_read._predictor(model, table.schema.names)
            predictor.take_items(items)
        names = as_read._new_columns(predictor, table.schema.names)
        predictor.load(device or "cpu")
        self._report_weights(model, predictor)
        adder = ColumnAdder(names, self.request.batch or predictor.batch, invalid=self.invalid)
        # The first batch contains the columns even if there are no rows.
        batches = chain([table.none()], table.batches(adder.batch))
        with work(self.listen, "", len(table)) as advance:
            write_parquet(Path(self.output), adder.add(predictor, batches, self.rows), advance)
        return predictor

    def on_spark(self, model: Model, path: str, backend: SparkBackend, device: torch.device | None) -> Predictor:
        """Add the columns in Spark tasks."""
        with backend.session() as session:
            from netdsl.spark import NetModel

            # Imports pyspark; the session has already checked that it is installed.
            from netdsl.spark.tables import parquet

            frame = parquet.read(session, path)
            predictor = self._predictor(model, frame.columns)
            sample = parquet.sample(frame, [net_input.blob.column for net_input in predictor.inputs])
            items = infer_shapes(sample, predictor.inputs)
            predictor.take_items(items)
            as_read = self._as_read(model, predictor)
            names, net = as_read.names, model.with_items(items).net
            if as_read is self:
                names = self._new_columns(predictor, frame.columns)
            net_model = NetModel(net, model.weights, bindings=self.request.columns, outputs=names.blobs)
            self._report_weights(model, predictor)
            net_model.setPredictionCol(names.prediction).setProbabilityCol(names.probability)
            net_model.setClassCol(names.predicted_class).setClasses(names.classes)
            net_model.setHandleInvalid(self.invalid.value)
            if device is not None:
                net_model.setDevice(str(device))
            if self.request.batch:
                net_model.setBatchSize(self.request.batch)
            parquet.write(session, net_model.transform(frame), self.output)
        return predictor

    def _as_read(self, model: Model, predictor: Predictor) -> _Adding:
        """Return columns with the values of the prediction if it is a vector, but not known to contain scores of
        classes. Otherwise, return the columns unchanged."""
        if not self.names.prediction or predictor.prediction is None or predictor.classes() < 2:
            return self
        request, sentences = self.request, list[str]()
        read_as = request.read_as if isinstance(request, PredictRequest) else None
        asked = AnswererRequest(request.net, tuple(request.weights), read_as=read_as)
        stated = stated_output(asked, described_model(Path(request.net), asked.weights), model)
        output = NetOutput(predictor, (), stated, (predictor.built.graph.blobs[predictor.prediction],))
        if output.view(predictor.prediction, None, sentences.append) is View.CLASSES:
            return self
        for sentence in sentences:
            self.listen(Notice(f"{request.net}: {sentence}"))
        (blob,) = output.outputs
        if blob not in model.graphs[0].blobs:
            raise NetError(
                "the net's loss predicts classes; to write a blob's values as a column, use `zoo features --blob`"
            )
        return replace(self, names=ColumnNames({blob: self.names.prediction}, "", ""))

    def _report_weights(self, model: Model, predictor: Predictor) -> None:
        self.listen(WeightsLoaded(model.files, match_names(model, predictor.built)))

    def _predictor(self, model: Model, names: Sequence[str]) -> Predictor:
        """Return the predictor. Raises an error if the table lacks the columns of its inputs."""
        predictor = Predictor(model, self.names.blobs, self.request.columns)
        check_columns(names, [net_input.blob for net_input in predictor.inputs], COLUMN)
        return predictor

    def _new_columns(self, predictor: Predictor, names: Sequence[str]) -> ColumnNames:
        """Return the names of the new columns. Raises an error if the net doesn't predict a value for each row, or if
        the table already contains such a column."""
        made = self._with_classes(predictor.classes())
        columns = made.columns(predictor)
        if not columns:
            raise NetError(
                "the net doesn't predict a value for each row; write its blobs as columns with `zoo features`"
            )
        check_new_columns(names, columns)
        return made

    def _with_classes(self, outputs: int) -> ColumnNames:
        """Return the new columns with the names of the model's classes, if they are known."""
        if not self.names.predicted_class or outputs < 2:
            return self.names
        net = self.request.net
        classes = classes_of_model(net, self.request.weights)
        if len(classes) not in (0, outputs):
            text = (
                f"{net}: the net predicts {outputs} classes, but the labels next to it name {len(classes)}; they "
                "aren't used"
            )
            self.listen(Notice(text))
            return self.names
        return replace(self.names, classes=classes)
