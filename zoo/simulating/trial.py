"""One run of the simulator, and what is kept of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from netdsl.distributed.record import RoundRecord
from netdsl.distributed.run import Run
from netdsl.distributed.simulator.link import Link
from netdsl.distributed.simulator.machines import Machines
from netdsl.distributed.simulator.run import Simulation, simulate


@dataclass(frozen=True)
class Trial:
    """What to simulate. It ends when the model is as accurate as `goal`."""

    plan: Run
    link: Link
    machines: Machines
    goal: float = math.inf

    def run(self) -> Outcome:
        """Train."""
        return Outcome.of(simulate(self.plan, link=self.link, pace=self.machines, goal=self.goal))


@dataclass(frozen=True)
class Point:
    """A test."""

    time: float
    iteration: int
    accuracy: float


@dataclass(frozen=True)
class Usage:
    """What one worker did all the time."""

    steps: int
    compute: float  # seconds
    wait: float
    exchange: float
    bytes: int

    @classmethod
    def of(cls, records: tuple[RoundRecord, ...]) -> Self:
        """The sums over its rounds."""
        names = ("steps", "compute", "wait", "exchange", "bytes")
        return cls(**{name: sum(getattr(record, name) for record in records) for name in names})


@dataclass(frozen=True)
class Outcome:
    """How accurate the model was when, what each worker did, and when the last one was done."""

    points: tuple[Point, ...]
    usages: tuple[Usage, ...]
    time: float

    @classmethod
    def of(cls, simulation: Simulation) -> Self:
        """What is kept of a simulation."""
        scores = [(score, score.accuracy) for score in simulation.scores]
        points = [Point(score.time, score.iteration, found) for score, found in scores if found is not None]
        return cls(tuple(points), tuple(map(Usage.of, simulation.records)), simulation.time)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The outcome of which these are the values."""
        points = tuple(Point(**each) for each in values["points"])
        return cls(points, tuple(Usage(**each) for each in values["usages"]), float(values["time"]))

    def to_json(self) -> dict[str, Any]:
        """Plain values, from which it can be made again."""
        return asdict(self)

    def reached(self, accuracy: float) -> Point | None:
        """The first test that was as good."""
        return next((point for point in self.points if point.accuracy >= accuracy), None)

    def share(self, name: str) -> float:
        """What part of all workers' time is `compute`, `wait` or `exchange`."""
        whole = self.time * len(self.usages)
        return sum(getattr(usage, name) for usage in self.usages) / whole if whole else 0.0

    @property
    def best(self) -> float:
        """The best accuracy of all tests."""
        return max((point.accuracy for point in self.points), default=0.0)
