"""The MPCA paper's comparison: the accuracy of each method over time if exchanging a model takes long."""

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
from zoo.simulating.cache import TrialCache
from zoo.simulating.digits import DigitsTask
from zoo.simulating.pool import ProgressCallback, run_trials
from zoo.simulating.step_time import measure_step
from zoo.simulating.trial import Trial, TrialOutcome

RATIOS = (10, 100)  # iterations that pass while all workers exchange their models
_TEST_INTERVAL = 10  # iterations after which a model is tested, or after a round if that is longer
_ALPHAS = {10: 0.05, 100: 0.005}  # MPCA's, as its authors chose them for models with about such ratios
_COMPUTE_RATIO = 5  # SparkNet's: computing should take so many times as long as exchanging


class Method(Enum):
    """A method, with the paper's name as its value."""

    SINGLE = "single machine"
    SYNCHRONOUS = "synchronous"
    ELASTIC = "EASGD"
    MPCA = "MPCA"


@dataclass(frozen=True)
class MethodComparison:
    """The settings of the comparison: the number of workers and of random seeds, and the task."""

    workers: int = 8
    seeds: int = 3
    task: DigitsTask = field(default_factory=lambda: DigitsTask(iterations=4000))

    def strategy(self, method: Method, ratio: int) -> AnyStrategy:
        """The strategy of a method, with its authors' rule for the frequency of exchanges.

        The server of elastic averaging must have served all workers before the first one returns. A round of MPCA only
        determines when the model is tested.
        """
        match method:
            case Method.SINGLE:
                return ModelAveraging(_TEST_INTERVAL)
            case Method.SYNCHRONOUS:
                return ModelAveraging(_COMPUTE_RATIO * ratio)
            case Method.ELASTIC:
                return ElasticAveraging(math.ceil(self.workers * self._sending_iterations(ratio)))
            case Method.MPCA:
                return MPCA(alpha=_ALPHAS[ratio], tau=_TEST_INTERVAL)

    def _sending_iterations(self, ratio: int) -> float:
        """The iterations that sending a model once takes, if averaging all models takes `ratio`."""
        return ratio / Link(bandwidth=1.0).seconds(ExchangeKind.MEAN, self.workers, 1)

    def trials(self, method: Method, ratio: int, size: int) -> list[Trial]:
        """A trial for each seed, with models of `size` bytes and time measured in iterations."""
        workers = 1 if method is Method.SINGLE else self.workers
        link, strategy = Link(size / self._sending_iterations(ratio)), self.strategy(method, ratio)
        settings = [self.task.settings(seed, _TEST_INTERVAL) for seed in range(1, self.seeds + 1)]
        return [Trial(Run(param, strategy, workers), link, Machines(1.0, workers)) for param in settings]


@dataclass(frozen=True)
class MethodResult:
    """The outcomes of a method for each seed, if an exchange takes `ratio` iterations."""

    method: Method
    ratio: int
    strategy: AnyStrategy
    outcomes: tuple[TrialOutcome, ...]

    def time_to_reach(self, accuracy: float) -> float | None:
        """The time at which an accuracy was reached: the median over the seeds."""
        points = [outcome.first_reaching(accuracy) for outcome in self.outcomes]
        time = median(math.inf if point is None else point.time for point in points)
        return None if time == math.inf else time

    @property
    def compute_share(self) -> float:
        """The share of the workers' time that they computed."""
        return sum(outcome.share("compute") for outcome in self.outcomes) / len(self.outcomes)

    def curve(self, times: Sequence[float]) -> list[float]:
        """The error of the last test at each time: the mean over the seeds."""
        errors = [[1 - _latest(outcome, time) for outcome in self.outcomes] for time in times]
        return [sum(seed_errors) / len(seed_errors) for seed_errors in errors]

    def final_accuracy(self, end: float) -> float:
        """The mean accuracy over the last tenth of the time until `end`, which reduces chance."""
        errors = self.curve([end * (1 - part / 200) for part in range(21)])
        return 1 - sum(errors) / len(errors)


def common_end(results: Sequence[MethodResult]) -> float:
    """The time until which all trials have been tested."""
    return min(outcome.points[-1].time for result in results for outcome in result.outcomes)


def _latest(outcome: TrialOutcome, time: float) -> float:
    """The accuracy of the last test at a time, or of the first model before its test."""
    first, *others = outcome.points
    return [first, *(point for point in others if point.time <= time)][-1].accuracy


def compare_methods(
    comparison: MethodComparison,
    report_progress: ProgressCallback,
    cache: TrialCache | None = None,
    *,
    ratios: Sequence[int] = RATIOS,
) -> list[MethodResult]:
    """Run every method at every ratio."""
    size = measure_step(Run(comparison.task.settings(1, 1), ModelAveraging(), 1)).bytes
    cases = [(method, ratio) for ratio in ratios for method in Method]
    trials = {case: comparison.trials(*case, size) for case in cases}
    outcomes = iter(run_trials([trial for case in cases for trial in trials[case]], report_progress, cache))
    return [
        MethodResult(
            method, ratio, comparison.strategy(method, ratio), tuple(next(outcomes) for _ in trials[method, ratio])
        )
        for method, ratio in cases
    ]
