"""Trains the net of a program with several workers: begins the run, trains it, and hands its weights back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.stored_rows import store_rows
from netdsl.data.batches.user_data import AnyData, UserData, is_of_spark, user_data_of
from netdsl.data.batches.user_rows import UserRows
from netdsl.data.tables.table import Table
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import EVENTS, RoundRecord, read_moments
from netdsl.distributed.run_worker import MODEL, MODEL_AT_STOP
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import DataError
from netdsl.model.edits import with_batch
from netdsl.model.model import Model
from netdsl.net.graph import Phase
from netdsl.prediction.net_inputs import inputs_of
from netdsl.solver.events import Action, Listener
from netdsl.solver.length import Intervals
from netdsl.solver.settings import SolverSettings
from netdsl.solver.trainable_net import Compute
from netdsl.training import job
from netdsl.training.backends import Backend, await_all
from netdsl.training.callbacks import History

_DISPLAYS = 50  # of the loss in a training, if the settings don't say when
_ENDED = "ended"  # a file by which the first of several processes tells the others


@dataclass(frozen=True)
class Team:
    """How several workers train: where, how many, what they exchange, and the folder that keeps their run, if any."""

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
        """The team that names describe. If another program has started the workers, the team has all of them."""
        count = WorkerCount(backend.started or 1) if workers is None else WorkerCount.parse(str(workers))
        chosen = ModelAveraging() if strategy is None else parse(strategy) if isinstance(strategy, str) else strategy
        return cls(backend, count, chosen, None if folder is None else Path(folder))


@dataclass(frozen=True)
class Lesson:
    """What a net learns from, and for how long: iterations, or epochs of the data."""

    data: AnyData | None  # if unset, the net's own
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
    """Train a model, beginning with its weights, and call `take` with the file of the trained weights.

    Every process that takes part calls this. Each of them takes the weights, and returns the history of the whole run.
    """
    with _run_folder(team) as folder:
        backend, run, ended = team.backend, None, folder / _ENDED
        if backend.supervises:
            with backend.leading():
                run = _begun_run(model, param, lesson, team, compute, folder)
            ended.unlink(missing_ok=True)
        job.train(folder, backend, run=run, listeners=[hear], on_round=on_round, requested=requested)
        if backend.supervises and backend.started is not None:
            ended.touch()
        elif backend.started is not None:
            await_all(ended.exists, f"{folder}: the first worker doesn't say that training has ended")
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
    """Begin the run in a folder, or find the one that was begun there with the same settings and was interrupted."""
    if lesson.batch is not None:
        model = with_batch(model, Phase.TRAIN, lesson.batch)
    settings = SolverSettings(param, replace(model, weights={}))
    run = Run(
        settings,
        team.strategy,
        team.workers.most,
        fewest=team.workers.fewest,
        compute=compute,
        devices=devices_for(compute.device, team.workers.most, team.backend),
        tables=_tables(settings, lesson, folder),
    )
    run = _with_lengths(run, lesson)
    weights = Model(pb.NetParameter(), model.weights, sources=dict.fromkeys(model.weights, Path("begin.caffemodel")))
    return job.begin_or_resume(run, folder, team.backend, [weights] if model.weights else [])


def devices_for(device: torch.device, workers: int, backend: Backend) -> tuple[torch.device, ...]:
    """The devices that workers take in turn: all GPUs of this machine if several workers train on GPUs."""
    if device.type != "cuda" or workers == 1 or backend.remote:
        return () if backend.remote else (device,)
    return tuple(torch.device("cuda", number) for number in range(torch.cuda.device_count()))


def _tables(settings: SolverSettings, lesson: Lesson, folder: Path) -> Mapping[Phase, Table]:
    """The given data as tables. Data that aren't in files yet are stored in the run's folder."""
    tables = {}
    if lesson.data is not None:
        tables[Phase.TRAIN] = _table_of(lesson.data, settings.trained, folder / "data" / "train", training=True)
    if lesson.tests is not None:
        tested = settings.with_fields(test_iter=[1], test_interval=1).tested[0]
        tables[Phase.TEST] = _table_of(lesson.tests, tested, folder / "data" / "test", training=False)
    return tables


def _table_of(data: AnyData, model: Model, folder: Path, *, training: bool) -> Table:
    phase = Phase.TRAIN if training else Phase.TEST
    blobs = [each.blob for each in inputs_of(model.graph(phase), {})]
    if not blobs:
        raise DataError("no blob of the net comes from outside; it needs an RDDLayer for each column")
    if is_of_spark(data):
        table: Table = import_module("netdsl.spark.net_rows").store_columns(data, blobs, folder)  # which is above
        return replace(table, shuffle=training)
    values: UserData = user_data_of(data, training=training)
    if isinstance(values, Table):
        return values
    if isinstance(values, UserRows):
        return store_rows(values, [blob.name for blob in blobs], folder)
    raise DataError(
        "batches that this program makes one after the other can't be divided among workers; give arrays, a Dataset, a "
        "table, an address of data, or an RDD or DataFrame of Spark's"
    )


def _with_lengths(run: Run, lesson: Lesson) -> Run:
    """The run with the iterations of the lesson, and tests after each epoch if there are data for them."""
    settings, tables, steps, epoch = run.solver, run.tables, lesson.steps, None
    param = settings.param
    if lesson.epochs is not None:
        epoch = run.epoch_of(job.batches_of(settings.trained, tables.get(Phase.TRAIN)))
        steps = epoch.iterations_of(lesson.epochs)
    assert steps is not None
    unset = {"display": max(1, steps // _DISPLAYS), "snapshot_after_train": False, "test_initialization": False}
    fields: dict[str, object] = {name: value for name, value in unset.items() if not param.HasField(name)}
    if Phase.TEST not in tables:
        return replace(run, solver=settings.without_tests().with_fields(max_iter=steps, **fields))
    fields["test_interval"] = param.test_interval or (steps if epoch is None else epoch.interval)
    tested = settings.with_fields(test_iter=[1], **fields).tested[0]
    fields["test_iter"] = list(param.test_iter) or [math.ceil(job.batches_of(tested, tables[Phase.TEST]))]
    if epoch is not None and not param.test_interval:
        run = replace(run, due=Intervals(epoch.iterations, Fraction(param.snapshot)))
    return replace(run, solver=settings.with_fields(max_iter=steps, **fields))
