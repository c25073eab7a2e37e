"""Trains a program's net with several workers: begins the run, trains it, and passes on the trained weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.user_data import AnyData, UserData, is_of_spark, user_data_of
from netdsl.data.batches.user_rows import UserRows
from netdsl.data.tables.table import Table
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import EVENTS, RoundRecord, read_moments
from netdsl.distributed.run_storage import run_folder
from netdsl.distributed.run_worker import MODEL, MODEL_AT_STOP
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import DataError
from netdsl.model.edits import with_batch
from netdsl.model.model import Model
from netdsl.net.graph import Phase
from netdsl.prediction.net_inputs import inputs_from_outside
from netdsl.solver.events import Action, Listener, Notice
from netdsl.solver.settings import SolverSettings
from netdsl.solver.trainable_net import Compute
from netdsl.training import job
from netdsl.training.backends import Backend
from netdsl.training.callbacks import History


@dataclass(frozen=True)
class Team:
    """The settings of several workers: the place, their number, the strategy, and the folder that keeps their run, if
    any."""

    backend: Backend
    workers: WorkerCount
    strategy: Strategy
    folder: Path | None = None

    @classmethod
    def of(
        cls,
        backend: Backend,
        workers: int | str | None,
        strategy: str | Strategy | None,
        folder: str | Path | None,
    ) -> Team:
        """Return the team that the names describe. By default, all workers that another program has started are in the
        team."""
        count = WorkerCount(backend.started or 1) if workers is None else WorkerCount.parse(str(workers))
        chosen = ModelAveraging() if strategy is None else parse(strategy) if isinstance(strategy, str) else strategy
        return cls(backend, count, chosen, None if folder is None else run_folder(folder))


@dataclass(frozen=True)
class Lesson:
    """The data that a net learns from, and the duration: a number of iterations, or of epochs of the data."""

    data: AnyData | None  # the default is the net's own data
    tests: AnyData | None = None
    batch: int | None = None
    steps: int | None = None
    epochs: float | None = None


def train_with_team(
    model: Model,
    param: pb.SolverParameter,
    lesson: Lesson,
    team: Team,
    compute: Compute,
    hear: Listener,
    on_round: Callable[[RoundRecord], object],
    requested: Callable[[], Action],
    take: Callable[[Path], object],
) -> History:
    """Train a model from its current weights, and call `take` with the file of the trained weights.

    Every process that takes part calls this function. Each one takes the weights and returns the history of the whole
    run.
    """
    backend, run = team.backend, None
    with _run_folder(team) as folder, job.holding(folder, backend, lambda text: hear(Notice(text))):
        if backend.supervises:
            with backend.leading(folder):
                run = _begun_run(model, param, lesson, team, compute, folder)
        job.train(folder, backend, run=run, listeners=[hear], on_round=on_round, requested=requested)
        job.go_on_together(folder, backend, "training has ended")
        take(next(path for path in (folder / MODEL, folder / MODEL_AT_STOP) if path.exists()))
        return History(read_moments(folder / EVENTS))


@contextmanager
def _run_folder(team: Team) -> Iterator[Path]:
    if team.folder is not None:
        yield team.folder.resolve()
        return
    with team.backend.temporary_folder() as folder:
        yield folder


def _begun_run(
    model: Model, param: pb.SolverParameter, lesson: Lesson, team: Team, compute: Compute, folder: Path
) -> Run:
    """Begin the run in a folder, or find the interrupted run that was begun there with the same settings."""
    if lesson.batch is not None:
        model = with_batch(model, Phase.TRAIN, lesson.batch)
    settings = SolverSettings(param, replace(model, weights={}))
    run = Run(
        settings,
        team.strategy,
        team.workers.most,
        fewest=team.workers.fewest,
        compute=compute,
        devices=_devices_for(compute.device, team.workers.most, team.backend),
        tables=_tables(settings, lesson, folder),
    )
    run = _with_lengths(run, lesson)
    weights = Model(pb.NetParameter(), model.weights, sources=dict.fromkeys(model.weights, Path("begin.caffemodel")))
    return job.begin_or_resume(run, folder, team.backend, [weights] if model.weights else [])


def _devices_for(device: torch.device, workers: int, backend: Backend) -> tuple[torch.device, ...]:
    """Return the devices that are assigned to workers in turn.

    These are all GPUs of this machine if several workers train on GPUs.
    """
    if device.type != "cuda" or workers == 1 or backend.on_other_machines:
        return () if backend.on_other_machines else (device,)
    return tuple(torch.device("cuda", number) for number in range(torch.cuda.device_count()))


def _tables(settings: SolverSettings, lesson: Lesson, folder: Path) -> Mapping[Phase, Table]:
    """Return the given data as tables. Data that aren't in files yet are stored in the run's folder."""
    tables = {}
    if lesson.data is not None:
        tables[Phase.TRAIN] = _table_of(lesson.data, settings.trained, folder / "data" / "train", training=True)
    if lesson.tests is not None:
        tested = settings.with_fields(test_iter=[1], test_interval=1).tested[0]
        tables[Phase.TEST] = _table_of(lesson.tests, tested, folder / "data" / "test", training=False)
    return tables


def _table_of(data: AnyData, model: Model, folder: Path, *, training: bool) -> Table:
    phase = Phase.TRAIN if training else Phase.TEST
    inputs = inputs_from_outside(model.graph(phase), {})
    if is_of_spark(data):
        store_columns = import_module("netdsl.spark.net_rows").store_columns  # the package is above this one
        return Table(store_columns(data, inputs, folder), shuffle=training)
    values: UserData = user_data_of(data, training=training)
    if isinstance(values, Table):
        return values
    if isinstance(values, UserRows):
        return values.store([each.blob.name for each in inputs], folder)
    raise DataError(
        "a stream of batches can't be divided among workers; give arrays, a Dataset, a table, an address of "
        "data, or one of Spark's RDDs or DataFrames"
    )


def _with_lengths(run: Run, lesson: Lesson) -> Run:
    """Return the run with the lesson's number of iterations. If there are test data, it is tested after each epoch."""
    if lesson.epochs is not None:
        run = job.with_epochs(run, lesson.epochs, tested=Phase.TEST in run.tables)
    else:
        run = replace(run, solver=run.solver.with_fields(max_iter=lesson.steps))
    solver = job.with_defaults(run.solver)
    if Phase.TEST not in run.tables:
        return replace(run, solver=solver.without_tests())
    asks_for_all, solver = not solver.param.test_iter, job.with_tests(solver)
    if asks_for_all:
        batches = job.batches_of(solver.tested[0], run.tables[Phase.TEST])
        solver = solver.with_fields(test_iter=[math.ceil(batches)])
    return replace(run, solver=solver)
