"""The MPCA paper's comparison: the accuracy of each method over time on networks with slow exchanges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from netdsl.distributed.machines import ExchangeKind, Link, Machines, SparkLink
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.elastic import ElasticAveraging
from netdsl.distributed.strategies.mpca import MPCA
from netdsl.distributed.strategies.strategy import Strategy
from zoo.simulating.digits import DigitsTask, whole_rounds
from zoo.simulating.trials import ProgressCallback, RepeatedTrial, Trial, TrialCache, measure_step, run_trials

RATIOS = (10, 100)  # duration of an exchange among all workers, in iterations
_CODING = 9 / 6.6  # speed of serialisation, in bandwidths; with this value, a mean of eight models costs 12.6 sends
_TEST_INTERVAL = 10  # minimum number of iterations before a model is tested, at the end of a round
_ALPHAS = {10: 0.05, 100: 0.005}  # MPCA's setting, which its authors chose for models with similar ratios
_COMPUTE_RATIO = 5  # SparkNet's setting: computing should take this many times as long as exchanging
_SPARE_TIME = 1.3  # EASGD's setting, relative to the time in which the server serves all workers


class Method(Enum):
    """A method. The value is the paper's name for it."""

    SINGLE = "single machine"
    SYNCHRONOUS = "synchronous"
    ELASTIC = "EASGD"
    MPCA = "MPCA"


class NetworkKind(Enum):
    """A network. The value is its name."""

    SWITCH = "switch"  # workers exchange directly, and compute a mean in a ring
    SPARK = "Spark"  # exchanges pass through the driver, with the binary trees and costs of the MPCA paper


@dataclass(frozen=True)
class Setting:
    """The conditions of a comparison: a network, and the duration of averaging all workers' models on it, in
    iterations."""

    network: NetworkKind
    ratio: int

    def link(self, workers: int, size: int) -> Link:
        """Return the connection of each worker, for models of `size` bytes and time measured in iterations."""
        bandwidth = size * self.sends(workers) / self.ratio
        return self._link_with(bandwidth)

    def sends(self, workers: int) -> float:
        """Return the time of averaging all workers' models, relative to sending a model once."""
        return self._link_with(1.0).seconds(ExchangeKind.MEAN, workers, 1)

    def _link_with(self, bandwidth: float) -> Link:
        if self.network is NetworkKind.SWITCH:
            return Link(bandwidth)
        return SparkLink(bandwidth, codec=_CODING * bandwidth, job=0.0, depth=3)


SETTINGS = tuple(Setting(network, ratio) for network in NetworkKind for ratio in RATIOS)


@dataclass(frozen=True)
class MethodComparison:
    """The settings of the comparison: the number of workers and of random seeds, and the task."""

    workers: int = 8
    seeds: int = 3
    task: DigitsTask = field(default_factory=lambda: DigitsTask(iterations=4000))

    def strategy(self, method: Method, setting: Setting) -> ModelAveraging | ElasticAveraging | MPCA:
        """Return the strategy of a method, with its authors' rule for the frequency of exchanges.

        The server of elastic averaging gets 30% more time than it takes to send its model to all workers before the
        first one returns. A round of MPCA ends without an exchange.
        """
        ratio = setting.ratio
        match method:
            case Method.SINGLE:
                return ModelAveraging(_TEST_INTERVAL)
            case Method.SYNCHRONOUS:
                return ModelAveraging(_COMPUTE_RATIO * ratio)
            case Method.ELASTIC:
                once = ratio / setting.sends(self.workers)
                return ElasticAveraging(math.ceil(_SPARE_TIME * self.workers * once))
            case Method.MPCA:
                return MPCA(alpha=_ALPHAS[ratio], tau=_TEST_INTERVAL)

    def trials(self, method: Method, setting: Setting, size: int) -> list[Trial]:
        """Return a trial for each seed, with models of `size` bytes and time measured in iterations."""
        workers = 1 if method is Method.SINGLE else self.workers
        link = Link() if method is Method.SINGLE else setting.link(self.workers, size)
        strategy = self.strategy(method, setting)
        interval = whole_rounds(_TEST_INTERVAL, int(strategy.tau))
        plans = [Run(self.task.settings(seed, interval), strategy, workers) for seed in range(1, self.seeds + 1)]
        return [Trial(plan, link, Machines(1.0, workers)) for plan in plans]


@dataclass(frozen=True)
class MethodResult(RepeatedTrial):
    """The outcomes of a method for each seed."""

    method: Method
    setting: Setting
    strategy: Strategy

    @property
    def compute_share(self) -> float:
        """The share of the workers' time that was spent on computing."""
        return sum(outcome.share("compute") for outcome in self.outcomes) / len(self.outcomes)

    def final_accuracy(self, end: float) -> float:
        """Return the mean accuracy over the last tenth of the time until `end`, which reduces randomness."""
        errors = self.curve([end * (1 - part / 200) for part in range(21)])
        return 1 - sum(errors) / len(errors)


def common_end(results: Sequence[MethodResult]) -> float:
    """Return the time up to which all trials have been tested."""
    return min(outcome.points[-1].time for result in results for outcome in result.outcomes)


def compare_methods(
    comparison: MethodComparison,
    report_progress: ProgressCallback,
    cache: TrialCache | None = None,
    *,
    settings: Sequence[Setting] = SETTINGS,
) -> list[MethodResult]:
    """Run every method under all conditions."""
    size = measure_step(Run(comparison.task.settings(1, 1), ModelAveraging(), 1)).bytes
    cases = [(method, setting) for setting in settings for method in Method]
    trials = {case: comparison.trials(*case, size) for case in cases}
    outcomes = iter(run_trials([trial for case in cases for trial in trials[case]], report_progress, cache))
    return [
        MethodResult(*case, comparison.strategy(*case), outcomes=tuple(next(outcomes) for _ in trials[case]))
        for case in cases
    ]
