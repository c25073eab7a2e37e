"""The MPCA paper's comparison: which method is how accurate when, if exchanging a model takes long."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from statistics import median

from netdsl.distributed.run import Run
from netdsl.distributed.simulator.link import ExchangeKind, Link
from netdsl.distributed.simulator.machines import Machines
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.elastic import ElasticAveraging
from netdsl.distributed.strategies.mpca import MPCA
from netdsl.distributed.strategies.settings import AnyStrategy
from zoo.simulating.cache import Cache
from zoo.simulating.digits import Task
from zoo.simulating.measuring import measured
from zoo.simulating.pool import Told, outcomes
from zoo.simulating.trial import Outcome, Trial

RATIOS = (10, 100)  # iterations that pass while all workers exchange their models
_EVERY = 10  # iterations after which a model is tested, or after a round if that is longer
_ALPHAS = {10: 0.05, 100: 0.005}  # MPCA's, as its authors chose them for models with about such ratios
_RULE = 5  # SparkNet's: computing should take so many times as long as exchanging


class Method(Enum):
    """By the names of the paper."""

    SINGLE = "single machine"
    SYNCHRONOUS = "synchronous"
    ELASTIC = "EASGD"
    MPCA = "MPCA"


@dataclass(frozen=True)
class MethodComparison:
    """What is trained, by how many workers, and with how many random seeds."""

    workers: int = 8
    seeds: int = 3
    task: Task = field(default_factory=lambda: Task(iterations=4000))

    def strategy(self, method: Method, ratio: int) -> AnyStrategy:
        """With its authors' rule for how often it exchanges.

        The server of elastic averaging must be done with all workers before the first one comes again. A round of MPCA
        only says when the model is looked at.
        """
        match method:
            case Method.SINGLE:
                return ModelAveraging(_EVERY)
            case Method.SYNCHRONOUS:
                return ModelAveraging(_RULE * ratio)
            case Method.ELASTIC:
                return ElasticAveraging(math.ceil(self.workers * self._once(ratio)))
            case Method.MPCA:
                return MPCA(alpha=_ALPHAS[ratio], tau=_EVERY)

    def _once(self, ratio: int) -> float:
        """How many iterations it takes to send a model once, if a mean of all takes `ratio`."""
        return ratio / Link(bandwidth=1.0).seconds(ExchangeKind.MEAN, self.workers, 1)

    def trials(self, method: Method, ratio: int, size: int) -> list[Trial]:
        """One for each seed, in time that is counted in iterations, with models of so many bytes."""
        workers = 1 if method is Method.SINGLE else self.workers
        link, strategy = Link(size / self._once(ratio)), self.strategy(method, ratio)
        settings = [self.task.settings(seed, _EVERY) for seed in range(1, self.seeds + 1)]
        return [Trial(Run(param, strategy, workers), link, Machines(1.0, workers)) for param in settings]


@dataclass(frozen=True)
class MethodResult:
    """How a method went when an exchange takes `ratio` iterations, once for each seed."""

    method: Method
    ratio: int
    strategy: AnyStrategy
    outcomes: tuple[Outcome, ...]

    def reached(self, accuracy: float) -> float | None:
        """When it was as accurate: the median over the seeds."""
        points = [outcome.reached(accuracy) for outcome in self.outcomes]
        time = median(math.inf if point is None else point.time for point in points)
        return None if time == math.inf else time

    @property
    def computing(self) -> float:
        """The share of their time in which workers computed."""
        return sum(outcome.share("compute") for outcome in self.outcomes) / len(self.outcomes)

    def curve(self, times: Sequence[float]) -> list[float]:
        """The error at these times: the mean over the seeds of what the last tests gave."""
        errors = [[1 - _latest(outcome, time) for outcome in self.outcomes] for time in times]
        return [sum(each) / len(each) for each in errors]

    def settled(self, end: float) -> float:
        """The mean accuracy in the last tenth of the time until `end`, in which chance makes little difference."""
        errors = self.curve([end * (1 - part / 200) for part in range(21)])
        return 1 - sum(errors) / len(errors)


def common_end(courses: Sequence[MethodResult]) -> float:
    """Until when all have been tested."""
    return min(outcome.points[-1].time for course in courses for outcome in course.outcomes)


def _latest(outcome: Outcome, time: float) -> float:
    """The accuracy at that time. Until all have the first model, which is tested then, it is that one's."""
    first, *others = outcome.points
    return [first, *(point for point in others if point.time <= time)][-1].accuracy


def compared(
    comparison: MethodComparison, told: Told, cache: Cache | None = None, *, ratios: Sequence[int] = RATIOS
) -> list[MethodResult]:
    """Every method at every ratio."""
    size = measured(Run(comparison.task.settings(1, 1), ModelAveraging(), 1)).bytes
    cases = [(method, ratio) for ratio in ratios for method in Method]
    trials = {case: comparison.trials(*case, size) for case in cases}
    done = iter(outcomes([trial for case in cases for trial in trials[case]], told, cache))
    return [
        MethodResult(
            method, ratio, comparison.strategy(method, ratio), tuple(next(done) for _ in trials[method, ratio])
        )
        for method, ratio in cases
    ]
