"""Trials, which are runs of the simulator: their outcomes, a cache, parallel processes, and measured steps."""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Self

import torch

import caffe_proto
import netdsl
from caffe_proto.storage import atomic_path
from caffe_proto.text import prototxt
from netdsl.distributed.machines import Link, Machines
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord
from netdsl.distributed.run_worker import open_worker
from netdsl.distributed.strategies.settings import text_of
from netdsl.errors import DistributedError
from netdsl.planner.step_profile import iteration_seconds
from netdsl.simulator.communicator import Network, SimulatedCommunicator
from netdsl.simulator.simulate import Simulation, simulate
from netdsl.simulator.world import World
from zoo.requests.events import Listen, WorkDone, WorkEnded, WorkStarted

ProgressCallback = Callable[[int, int], None]  # called with the numbers of finished and of all trials


@contextmanager
def trainings(doing: str, listen: Listen) -> Iterator[ProgressCallback]:
    """Yield a function that reports the number of finished trainings."""
    done_before = -1

    def report(done: int, total: int) -> None:
        nonlocal done_before
        if done_before < 0:
            listen(WorkStarted(doing, total, unit="trainings"))
        listen(WorkDone(done - max(0, done_before)))
        done_before = done

    try:
        yield report
    finally:
        listen(WorkEnded())


@dataclass(frozen=True)
class Trial:
    """A run to simulate. It ends when the model reaches the accuracy `goal`."""

    plan: Run
    link: Link
    machines: Machines
    goal: float = math.inf

    def run(self) -> TrialOutcome:
        """Simulate the run."""
        return TrialOutcome.of(simulate(self.plan, link=self.link, pace=self.machines, goal=self.goal))


@dataclass(frozen=True)
class AccuracyPoint:
    """The accuracy of a test."""

    time: float
    iteration: int
    accuracy: float


@dataclass(frozen=True)
class WorkerUsage:
    """The totals of one worker: its steps, seconds by activity and exchanged bytes."""

    steps: int
    compute: float  # seconds
    wait: float
    exchange: float
    bytes: int

    @classmethod
    def of(cls, records: tuple[RoundRecord, ...]) -> Self:
        """Return the sums over a worker's rounds."""
        names = ("steps", "compute", "wait", "exchange", "bytes")
        return cls(**{name: sum(getattr(record, name) for record in records) for name in names})


@dataclass(frozen=True)
class TrialOutcome:
    """The outcome of a trial: accuracies over time, the workers' totals, and the time at which the last worker
    finished."""

    points: tuple[AccuracyPoint, ...]
    usages: tuple[WorkerUsage, ...]
    time: float

    @classmethod
    def of(cls, simulation: Simulation) -> Self:
        """Return the outcome of a simulation."""
        scores = [(score, score.accuracy) for score in simulation.scores]
        points = [
            AccuracyPoint(score.time, score.iteration, accuracy) for score, accuracy in scores if accuracy is not None
        ]
        return cls(tuple(points), tuple(map(WorkerUsage.of, simulation.records)), simulation.time)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the outcome that `to_json` has converted."""
        points = tuple(AccuracyPoint(**fields) for fields in values["points"])
        return cls(points, tuple(WorkerUsage(**fields) for fields in values["usages"]), float(values["time"]))

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON values."""
        return asdict(self)

    def first_reaching(self, accuracy: float) -> AccuracyPoint | None:
        """Return the first test with at least this accuracy, or `None`."""
        return next((point for point in self.points if point.accuracy >= accuracy), None)

    def share(self, name: str) -> float:
        """Return the share of `compute`, `wait` or `exchange` in the total time of all workers."""
        whole = self.time * len(self.usages)
        return sum(getattr(usage, name) for usage in self.usages) / whole if whole else 0.0

    @property
    def best(self) -> float:
        """The best accuracy of all tests."""
        return max((point.accuracy for point in self.points), default=0.0)


@dataclass(frozen=True, kw_only=True)
class RepeatedTrial:
    """The outcomes of a trial for each seed."""

    outcomes: tuple[TrialOutcome, ...]

    def time_to_reach(self, accuracy: float) -> float | None:
        """Return the median time over the seeds at which an accuracy was reached, or `None`."""
        points = [outcome.first_reaching(accuracy) for outcome in self.outcomes]
        time = median(math.inf if point is None else point.time for point in points)
        return None if time == math.inf else time

    def curve(self, times: Sequence[float]) -> list[float]:
        """Return the mean error over the seeds, from the last test at each time."""
        errors = [[1 - _latest_accuracy(outcome, time) for outcome in self.outcomes] for time in times]
        return [sum(seed_errors) / len(seed_errors) for seed_errors in errors]


def _latest_accuracy(outcome: TrialOutcome, time: float) -> float:
    """Return the accuracy of the last test at a time, or the first test's accuracy before that."""
    first, *others = outcome.points
    return [first, *(point for point in others if point.time <= time)][-1].accuracy


class TrialCache:
    """A folder with a JSON file for every trial, named by a hash of its settings and of the code."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise DistributedError(
                f"{folder}: the folder can't be created: {problem.strerror}; name another --cache"
            ) from None

    def get(self, trial: Trial) -> TrialOutcome | None:
        """Return the outcome of a trial, or None if it isn't cached or the file is damaged."""
        try:
            return TrialOutcome.from_json(json.loads(self._path_of_trial(trial).read_text()))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, trial: Trial, outcome: TrialOutcome) -> None:
        """Store the outcome of a trial."""
        with atomic_path(self._path_of_trial(trial)) as temporary:
            temporary.write_text(json.dumps(outcome.to_json()) + "\n")

    def _path_of_trial(self, trial: Trial) -> Path:
        return self._folder / f"{key_of(trial)}.json"


def key_of(trial: Trial) -> str:
    """Return the cache key of a trial: a hash of its settings and of the code."""
    plan = vars(trial.plan) | {
        "solver": prototxt.text_of(trial.plan.solver.message),
        "strategy": text_of(trial.plan.strategy),
    }
    parts = [_hash_of_code(), torch.__version__, sorted(plan.items()), trial.link, trial.machines, trial.goal]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def _hash_of_code() -> str:
    """Return a hash of the source files that training depends on."""
    digest = hashlib.sha256()
    for package in (caffe_proto, netdsl):
        for path in sorted(Path(package.__path__[0]).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def run_trials(
    trials: Iterable[Trial], report_progress: ProgressCallback, cache: TrialCache | None = None
) -> list[TrialOutcome]:
    """Run trials and return their outcomes. Cached trials aren't run again, and equal trials run only once."""
    ordered = list(trials)
    keys = [key_of(trial) for trial in ordered]
    trials_by_key = dict(zip(keys, ordered, strict=True))
    outcomes = {
        key: cached for key, trial in trials_by_key.items() if cache and (cached := cache.get(trial)) is not None
    }
    report_progress(len(outcomes), len(trials_by_key))
    for key, outcome in _run_in_processes({key: trial for key, trial in trials_by_key.items() if key not in outcomes}):
        if cache is not None:
            cache.put(trials_by_key[key], outcome)
        outcomes[key] = outcome
        report_progress(len(outcomes), len(trials_by_key))
    return [outcomes[key] for key in keys]


def _run_in_processes(trials: dict[str, Trial]) -> Iterable[tuple[str, TrialOutcome]]:
    """Yield outcomes as trials finish. The largest trials start first, so that they don't run alone at the end."""
    if not trials:
        return
    count, others = min(len(trials), os.cpu_count() or 1), set(active_children())
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=_initialize_process) as pool:
        largest = sorted(trials, key=lambda key: -trials[key].plan.workers)
        with _ignore_interrupts():
            keys: dict[Future[TrialOutcome], str] = {pool.submit(trials[key].run): key for key in largest}
        try:
            for future in as_completed(keys):
                yield keys[future], future.result()
        except BrokenProcessPool:
            raise DistributedError(
                "a simulating process died, perhaps because there isn't enough memory; lower --workers, or free memory"
            ) from None
        except BaseException:
            for process in set(active_children()) - others:
                process.terminate()
            raise


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which the parent process handles."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread can set signals
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _initialize_process() -> None:
    """Make a process end when its parent ends, for whatever reason."""
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@dataclass(frozen=True)
class StepMeasurement:
    """The seconds of a worker's iteration without exchanges, and the number of bytes of its blobs."""

    step: float
    bytes: int


def measure_step(plan: Run) -> StepMeasurement:
    """Measure an iteration. The result is the fastest decile, since a busy machine slows down the others.

    If the plan's workers divide a batch, one worker's part is measured.
    """
    communicator = SimulatedCommunicator(Network(World(plan.workers), Link()), 0)
    with open_worker(plan.settled(), communicator) as worker:
        seconds = iteration_seconds(worker.solver.iterate)
        return StepMeasurement(quantiles(seconds, n=10, method="inclusive")[0], worker.weights.nbytes)
