"""The fit of a net: a run with settings and data, in a folder that all machines share."""

from __future__ import annotations

import logging
import math
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from caffe_proto import caffe_pb2 as pb
from netdsl.data.tables.table import Table
from netdsl.distributed.run import Run, exists
from netdsl.distributed.run_log import EVENTS, Told, open_run_log, read_moments
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.supervisor import train
from netdsl.errors import DataError, DistributedError
from netdsl.model.data_shapes import with_items
from netdsl.model.opening import open_files, store_for_workers
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve_own_state
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.net_inputs import Preprocess
from netdsl.solver.events import Notice
from netdsl.solver.settings import SolverSettings
from netdsl.spark.cluster import Cluster
from netdsl.spark.launcher import SparkLauncher
from netdsl.spark.net_rows import Data, inputs_from_rows, new_folder, session_of, store_inputs
from netdsl.spark.pipeline.model import NetModel

_DISPLAYS = 50  # of the loss in a run, if the settings don't say when
_ONE_RUN = Lock()  # at a time, since a run takes all slots
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fit:
    """A training on the rows of a DataFrame or an RDD: the run, whose settings contain their nets, and its columns."""

    run: Run
    bindings: Mapping[str, str]
    workers: int | None = None  # if unset, one for each of Spark's slots
    folder: Path | None = None  # of the run; if unset a new one, which is removed afterwards
    preprocess: Preprocess | None = None
    shuffle: bool = True
    validation: str = ""  # the column that is true for rows to test on
    invalid: InvalidRows = InvalidRows.ERROR  # rows with values that are null or not finite; none is learned from

    def train(self, data: Data) -> NetModel:
        """The trained model. If the folder has a run that was interrupted, it is resumed."""
        session = session_of(data)
        launcher = SparkLauncher(session)
        with self._run_folder(session, launcher.cluster) as folder:
            if (folder / MODEL).exists():
                raise DistributedError(f"{folder}: has a run that is finished; name another folder for a new one")
            with _ONE_RUN:
                earlier = Run.load(folder) if exists(folder) else None
                run = self._prepared_run(earlier, data, folder, launcher)
                net = _net_with_shapes(run)
                self._save_or_compare(run, earlier, folder)
                _train_and_log(folder, launcher)
            return NetModel(net, folder / MODEL, history=read_moments(folder / EVENTS))

    @contextmanager
    def _run_folder(self, session: SparkSession, cluster: Cluster) -> Iterator[Path]:
        """The requested folder; or a new one, which is removed afterwards."""
        if self.folder is not None:
            run = self.folder.resolve()
            try:
                run.mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                raise DistributedError(f"{run}: can't be made: {problem.strerror}") from None
            yield run
            return
        run = new_folder(session, cluster)
        try:
            yield run
        finally:
            shutil.rmtree(run, ignore_errors=True)

    def _prepared_run(self, earlier: Run | None, data: Data, folder: Path, launcher: SparkLauncher) -> Run:
        """The run with its workers, transport and data; data that an earlier run wrote there are used again."""
        launcher.cluster.await_slots(self.workers or 1)
        workers, threads = self.workers or launcher.cluster.slots(), launcher.cluster.task_cores
        run = replace(self.run, workers=workers, threads=threads)
        if earlier is not None and run.transport is None:
            run = replace(run, transport=earlier.transport)
        run = launcher.prepare(folder, run, _log.warning)  # before the query, which may take long
        solver = self._solver_with_defaults(folder)
        weights = store_for_workers(open_files(self.run.weights, solver.trained), folder)
        training, testing = self._split_rows(data)
        tables = {Phase.TRAIN: self._training_table(solver, training, folder)}
        if testing is not None:
            solver, tables[Phase.TEST] = self._testing_table(solver, testing, folder)
        return replace(run, solver=solver, weights=weights, tables=tables).settled()

    def _save_or_compare(self, run: Run, earlier: Run | None, folder: Path) -> None:
        """Save the run, or check that it is the same as the earlier one in the folder."""
        if earlier is None:
            run.save(folder)
            return
        if self.run.solver.param.random_seed < 0:
            run = replace(run, solver=run.solver.with_fields(random_seed=earlier.solver.param.random_seed))
        if replace(run, folder=earlier.folder) != earlier:
            raise DistributedError(f"{folder}: has a run with other settings; name another folder")

    def _solver_with_defaults(self, folder: Path) -> SolverSettings:
        """The settings with defaults for fields that aren't set. Without rows for validation there are no tests."""
        param = self.run.solver.param
        defaults: dict[str, object] = {"display": max(1, param.max_iter // _DISPLAYS), "test_initialization": False}
        unset = {name: value for name, value in defaults.items() if not param.HasField(name)}
        solver = self.run.solver.with_fields(
            **unset, snapshot_prefix=str(folder / "snapshot"), snapshot_after_train=False
        )
        return solver if self.validation else solver.without_tests()

    def _split_rows(self, data: Data) -> tuple[Data, Data | None]:
        """The rows to learn from, and those to test on."""
        if not self.validation:
            return data, None
        if not isinstance(data, DataFrame) or self.validation not in data.columns:
            raise DataError(f"there is no column '{self.validation}', which should say which rows are for validation")
        is_chosen = col(f"`{self.validation}`").cast("boolean")
        return data.where(~is_chosen), data.where(is_chosen)

    def _training_table(self, solver: SolverSettings, data: Data, folder: Path) -> Table:
        inputs = inputs_from_rows(solver.trained, self.bindings)
        stored = store_inputs(inputs, data, folder / "data" / "train", self.preprocess, self.invalid)
        return Table(stored.source, shuffle=self.shuffle)

    def _testing_table(self, solver: SolverSettings, data: Data, folder: Path) -> tuple[SolverSettings, Table]:
        """The table to test on, and the settings; of these, unset ones let all rows be tested at the end."""
        param = solver.param
        solver = solver.with_fields(
            test_interval=param.test_interval or param.max_iter, test_iter=list(param.test_iter) or [1]
        )
        inputs = inputs_from_rows(solver.tested[0], self.bindings)
        stored = store_inputs(inputs, data, folder / "data" / "test", self.preprocess, self.invalid)
        if not param.test_iter:
            solver = solver.with_fields(test_iter=[math.ceil(stored.rows / inputs[0].batch)])
        return solver, Table(stored.source)


def _net_with_shapes(run: Run) -> pb.NetParameter:
    """The net with the shapes of its first batch; an error if the data don't fit the net."""
    graph = resolve_own_state(run.solver.trained.net)
    with closing(Feeds.open(graph, table=run.tables[Phase.TRAIN])) as feeds:
        return with_items(
            run.solver.net_to_train.net, {graph.blobs[edge]: shape[1:] for edge, shape in feeds.input_shapes.items()}
        )


def _train_and_log(folder: Path, launcher: SparkLauncher) -> None:
    def on_restart(attempt: int, reason: str) -> None:
        _log.warning("%s; all workers begin again from the last round that was saved", reason)

    with open_run_log(folder) as write:

        def on_report(report: Told) -> None:
            write(report)
            if isinstance(report, Notice):
                _log.warning("%s", report.text)

        train(folder, launcher, told=on_report, on_restart=on_restart)
