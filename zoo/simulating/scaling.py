"""SparkNet's Figures 5 and 7: the accuracy of AlexNet over time, by the number of workers and by tau."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from netdsl.distributed.machines import Link, Machines, SparkLink
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from zoo.simulating.alexnet import AlexNetTask
from zoo.simulating.cache import TrialCache
from zoo.simulating.pool import ProgressCallback, run_trials
from zoo.simulating.step_time import measure_step
from zoo.simulating.trial import RepeatedTrial, Trial

BYTES = 243_860_896  # of AlexNet's blobs
CLUSTER = SparkLink(1.25e9, codec=104e6, depth=1)  # ten gigabit; exchanging five AlexNets takes the paper's 20 seconds
_STEP = 2.0  # seconds of an iteration in the paper
_TEST_INTERVAL = 50
_TAU = 50

BY_WORKERS = ((1, _TAU), (3, _TAU), (5, _TAU), (10, _TAU))  # Figure 5: workers and tau
BY_TAU = ((5, 20), (5, _TAU), (5, 100))  # Figure 7


@dataclass(frozen=True)
class ScalingExperiment:
    """The settings of the experiment: the number of random seeds, and the task."""

    seeds: int = 3
    task: AlexNetTask = field(default_factory=AlexNetTask)

    def trials(self, workers: int, tau: int, size: int) -> list[Trial]:
        """A trial for each seed. Models of `size` bytes take as long as AlexNet's to exchange."""
        scale = size / BYTES
        spark = SparkLink(CLUSTER.bandwidth * scale, codec=CLUSTER.codec * scale, depth=CLUSTER.depth)
        plans = [
            Run(self.task.settings(seed, _TEST_INTERVAL), ModelAveraging(tau), workers)
            for seed in range(1, self.seeds + 1)
        ]
        return [Trial(plan, Link() if workers == 1 else spark, Machines(_STEP, workers)) for plan in plans]


@dataclass(frozen=True)
class ScalingResult(RepeatedTrial):
    """The outcomes of a number of workers that average after every `tau` iterations."""

    workers: int
    tau: int


def scale_alexnet(
    experiment: ScalingExperiment, report_progress: ProgressCallback, cache: TrialCache | None = None
) -> list[ScalingResult]:
    """Train with all numbers of workers and all taus."""
    size = measure_step(Run(experiment.task.settings(1, 1), ModelAveraging(), 1)).bytes
    cases = tuple(dict.fromkeys(BY_WORKERS + BY_TAU))
    trials = {case: experiment.trials(*case, size) for case in cases}
    outcomes = iter(run_trials([trial for case in cases for trial in trials[case]], report_progress, cache))
    return [
        ScalingResult(workers, tau, outcomes=tuple(next(outcomes) for _ in trials[workers, tau]))
        for workers, tau in cases
    ]


def select(results: Sequence[ScalingResult], cases: Sequence[tuple[int, int]]) -> list[ScalingResult]:
    """The results of some cases, in their order."""
    by_case = {(result.workers, result.tau): result for result in results}
    return [by_case[case] for case in cases]
