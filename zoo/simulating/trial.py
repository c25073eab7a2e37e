"""One run of the simulator and its outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Self

from netdsl.distributed.machines import Link, Machines
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord
from netdsl.simulator.simulate import Simulation, simulate


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
        """The sums over a worker's rounds."""
        names = ("steps", "compute", "wait", "exchange", "bytes")
        return cls(**{name: sum(getattr(record, name) for record in records) for name in names})


@dataclass(frozen=True)
class TrialOutcome:
    """The outcome of a trial: accuracies over time, the workers' totals, and the time at which the last one ended."""

    points: tuple[AccuracyPoint, ...]
    usages: tuple[WorkerUsage, ...]
    time: float

    @classmethod
    def of(cls, simulation: Simulation) -> Self:
        """The outcome of a simulation."""
        scores = [(score, score.accuracy) for score in simulation.scores]
        points = [
            AccuracyPoint(score.time, score.iteration, accuracy) for score, accuracy in scores if accuracy is not None
        ]
        return cls(tuple(points), tuple(map(WorkerUsage.of, simulation.records)), simulation.time)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Make an outcome of the values of `to_json`."""
        points = tuple(AccuracyPoint(**fields) for fields in values["points"])
        return cls(points, tuple(WorkerUsage(**fields) for fields in values["usages"]), float(values["time"]))

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def first_reaching(self, accuracy: float) -> AccuracyPoint | None:
        """The first test with at least an accuracy."""
        return next((point for point in self.points if point.accuracy >= accuracy), None)

    def share(self, name: str) -> float:
        """The share of `compute`, `wait` or `exchange` in all workers' time."""
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
        """The time at which an accuracy was reached: the median over the seeds."""
        points = [outcome.first_reaching(accuracy) for outcome in self.outcomes]
        time = median(math.inf if point is None else point.time for point in points)
        return None if time == math.inf else time

    def curve(self, times: Sequence[float]) -> list[float]:
        """The error of the last test at each time: the mean over the seeds."""
        errors = [[1 - _latest(outcome, time) for outcome in self.outcomes] for time in times]
        return [sum(seed_errors) / len(seed_errors) for seed_errors in errors]


def _latest(outcome: TrialOutcome, time: float) -> float:
    """The accuracy of the last test at a time, or of the first model before its test."""
    first, *others = outcome.points
    return [first, *(point for point in others if point.time <= time)][-1].accuracy
