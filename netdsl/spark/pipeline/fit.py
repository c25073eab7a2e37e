"""The fit of a net: a run with settings and data, in a folder that all machines share."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from threading import Lock

from pyspark.sql import DataFrame, SparkSession

from caffe_proto import caffe_pb2 as pb
from netdsl.checking.shape_guesses import assume
from netdsl.distributed.run import Run, exists
from netdsl.distributed.run_log import EVENTS, Moment, Told, open_run_log, read_moments
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.supervision.supervisor import train
from netdsl.errors import DistributedError
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, connect, filter_layers
from netdsl.open_net import todays_form
from netdsl.solver.events import Notice
from netdsl.solver.nets import train_net
from netdsl.spark.cluster import Cluster
from netdsl.spark.pipeline.fit_request import Data, FitRequest, plan_fit
from netdsl.spark.workers.launcher import SparkLauncher

FOLDER = "spark.netdsl.folder"  # the setting for the folder of runs that name none

_ONE_RUN = Lock()  # at a time, since a run takes all slots
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FitResult:
    """A trained net, a file with its weights, which is removed later, and the history of its training."""

    net: pb.NetParameter
    weights: Path
    history: tuple[Moment, ...]


@contextmanager
def fit_net(request: FitRequest, data: Data) -> Iterator[FitResult]:
    """Train as requested, or resume the interrupted run in the folder."""
    session = data.sparkSession if isinstance(data, DataFrame) else SparkSession.builder.getOrCreate()
    launcher = SparkLauncher(session)
    with _folder_of(request, session, launcher.cluster) as folder:
        if (folder / MODEL).exists():
            raise DistributedError(f"{folder}: has a run that is finished; name another folder for a new one")
        with _ONE_RUN:
            launcher.cluster.await_slots(request.workers or 1)
            workers, threads = request.workers or launcher.cluster.slots(), launcher.cluster.task_cores
            earlier = Run.load(folder) if exists(folder) else None
            run = replace(request.run, workers=workers, threads=threads)
            if earlier is not None and run.transport is None:
                run = replace(run, transport=earlier.transport)
            run = launcher.prepare(folder, run, _log.warning)  # before the query, which may take long
            run = plan_fit(request, run, data, folder)
            net = _net_with_shapes(run)
            _begin(run, earlier, folder, seeded=request.run.solver.random_seed >= 0)
            _train(folder, launcher)
        yield FitResult(net, folder / MODEL, read_moments(folder / EVENTS))


@contextmanager
def _folder_of(request: FitRequest, session: SparkSession, cluster: Cluster) -> Iterator[Path]:
    """The requested folder; or a new one, which is removed afterwards."""
    if request.folder is not None:
        run = request.folder.resolve()
        try:
            run.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DistributedError(f"{run}: can't be made: {problem.strerror}") from None
        yield run
        return
    shared = session.conf.get(FOLDER, "")
    if not shared and not cluster.setting("spark.master", "").startswith("local"):
        raise DistributedError(
            "data and rounds are kept in a folder that all machines share; name one in runFolder, or for all runs in "
            f"Spark's setting {FOLDER}"
        )
    run = Path(shared or tempfile.gettempdir(), f"netdsl-{token_hex(8)}")
    try:
        run.mkdir(parents=True, mode=0o777 if shared else 0o700)
        yield run
    finally:
        shutil.rmtree(run, ignore_errors=True)


def _net_with_shapes(run: Run) -> pb.NetParameter:
    """The net with the shapes of its first batch; an error if the data don't fit the net."""
    solver, training = run.solver, train_net(run.solver)
    net = todays_form(solver.net_param if solver.HasField("net_param") else solver.train_net_param)
    graph = connect(filter_layers(training, training.state))
    with closing(Feeds.open(graph, table=run.tables[Phase.TRAIN])) as feeds:
        assume(net, {graph.blobs[edge]: shape[1:] for edge, shape in feeds.input_shapes.items()})
    return net


def _begin(run: Run, earlier: Run | None, folder: Path, *, seeded: bool) -> None:
    """Save the run, or check that it is the same as the earlier one in the folder."""
    if earlier is None:
        run.save(folder)
        return
    if not seeded:
        run.solver.random_seed = earlier.solver.random_seed
    if replace(run, folder=earlier.folder) != earlier:
        raise DistributedError(f"{folder}: has a run with other settings; name another folder")


def _train(folder: Path, launcher: SparkLauncher) -> None:
    def on_restart(attempt: int, reason: str) -> None:
        _log.warning("%s; all workers begin again from the last round that was saved", reason)

    with open_run_log(folder) as write:

        def on_report(report: Told) -> None:
            write(report)
            if isinstance(report, Notice):
                _log.warning("%s", report.text)

        train(folder, launcher, told=on_report, on_restart=on_restart)
