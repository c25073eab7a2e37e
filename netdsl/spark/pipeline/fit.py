"""The fit of a net, which is a run with settings and data in a folder."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from threading import Lock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from caffe_proto import caffe_pb2 as pb
from caffe_proto.storage import PRIVATE, create_folder
from netdsl.data.tables.table import Table
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import EVENTS, read_moments
from netdsl.distributed.run_worker import MODEL
from netdsl.errors import DataError
from netdsl.model.data_shapes import with_items
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve_own_state
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.net_inputs import Preprocess
from netdsl.solver.events import Event, Notice, WorkersRestarted
from netdsl.solver.settings import SolverSettings
from netdsl.spark.backend import SessionBackend, folder_of_one_run
from netdsl.spark.net_rows import Data, inputs_from_rows, session_of, store_inputs
from netdsl.spark.pipeline.model import NetModel
from netdsl.training import job

_ONE_RUN = Lock()  # only one run at a time, since a run takes all slots
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fit:
    """A training on the rows of a DataFrame or an RDD: its run, whose settings contain the nets, and its columns."""

    run: Run
    bindings: Mapping[str, str]
    workers: int | None = None  # one for each of Spark's slots, if unset
    epochs: float | None = None  # of the training rows; replaces the settings' max_iter
    folder: Path | None = None  # of the run; if unset, a new one that is removed afterwards
    preprocess: Preprocess | None = None
    shuffle: bool = True
    validation: str = ""  # the column that is true for rows on which to test
    # What to do with rows whose values are null or not finite; training never uses them.
    invalid: InvalidRows = InvalidRows.ERROR

    def train(self, data: Data) -> NetModel:
        """Return the trained model. Resumes an interrupted run if the folder has one."""
        session = session_of(data)
        backend = SessionBackend(session)
        with self._run_folder(session) as folder, _ONE_RUN, job.holding(folder, backend, _log.warning):
            prepared = self._prepared_run(data, folder, backend)
            net = _net_with_shapes(prepared)  # raises an error if the rows don't fit the net, before workers begin
            run = job.begin_or_resume(prepared, folder, backend)
            job.train(folder, backend, run=run, listeners=[_log_warnings])
            return NetModel(net, folder / MODEL, history=read_moments(folder / EVENTS))

    @contextmanager
    def _run_folder(self, session: SparkSession) -> Iterator[Path]:
        """Return the requested folder, or a new one that is removed afterwards."""
        if self.folder is not None:
            run = self.folder.resolve()
            create_folder(run, PRIVATE)
            yield run
            return
        with folder_of_one_run(session) as run:
            yield run

    def _prepared_run(self, data: Data, folder: Path, backend: SessionBackend) -> Run:
        """Return the run with its workers and data. Reuses data that an earlier run wrote there."""
        backend.cluster.await_slots(self.workers or 1)
        run = replace(self.run, workers=self.workers or backend.cluster.slots())
        backend.launcher().prepare(folder, run, _log.warning)  # raises errors before the query, which may take long
        training, testing = self._split_rows(data)
        inputs = inputs_from_rows(run.solver.trained, self.bindings)
        stored = store_inputs(inputs, training, folder / "data" / "train", self.preprocess, self.invalid)
        tables = {Phase.TRAIN: Table(stored.source, shuffle=self.shuffle)}
        if self.epochs is not None:
            run = job.with_epochs(run, self.epochs, Fraction(stored.rows, inputs[0].batch), tested=True)
        solver = self._solver_with_defaults(run.solver)
        if testing is not None:
            solver, tables[Phase.TEST] = self._testing_table(solver, testing, folder)
        return replace(run, solver=solver, tables=tables)

    def _solver_with_defaults(self, solver: SolverSettings) -> SolverSettings:
        """Return the settings with defaults for unset fields. Without rows for validation, they have no tests."""
        solver = job.with_defaults(solver).with_fields(snapshot_prefix="snapshot", snapshot_after_train=False)
        return solver if self.validation else solver.without_tests()

    def _split_rows(self, data: Data) -> tuple[Data, Data | None]:
        """Return the rows for training and those for tests."""
        if not self.validation:
            return data, None
        if not isinstance(data, DataFrame) or self.validation not in data.columns:
            raise DataError(
                f"there is no column '{self.validation}' to mark the rows for validation; set "
                "validationIndicatorCol to an existing column"
            )
        is_chosen = col(f"`{self.validation}`").cast("boolean")
        return data.where(~is_chosen), data.where(is_chosen)

    def _testing_table(self, solver: SolverSettings, data: Data, folder: Path) -> tuple[SolverSettings, Table]:
        """Return the settings and the table on which to test.

        If the settings don't configure tests, all rows are tested at the end.
        """
        asks_for_all, solver = not solver.param.test_iter, job.with_tests(solver)
        inputs = inputs_from_rows(solver.tested[0], self.bindings)
        stored = store_inputs(inputs, data, folder / "data" / "test", self.preprocess, self.invalid)
        if asks_for_all:
            solver = solver.with_fields(test_iter=[math.ceil(stored.rows / inputs[0].batch)])
        return solver, Table(stored.source)


def _net_with_shapes(run: Run) -> pb.NetParameter:
    """Return the net with the shapes of its first batch. Raises an error if the data don't fit the net."""
    graph = resolve_own_state(run.solver.trained.net)
    with closing(Feeds.open(graph, table=run.tables[Phase.TRAIN])) as feeds:
        return with_items(
            run.solver.net_to_train.net, {graph.blobs[edge]: shape[1:] for edge, shape in feeds.input_shapes.items()}
        )


def _log_warnings(event: Event) -> None:
    match event:
        case Notice():
            _log.warning("%s", event.text)
        case WorkersRestarted():
            _log.warning("%s; all workers restart from the last saved round", event.reason)
