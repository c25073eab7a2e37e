"""The iterations that are needed to reach an accuracy, by the number of workers and the averaging interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from netdsl.distributed.machines import Link, Machines
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from zoo.simulating.cache import TrialCache
from zoo.simulating.digits import DigitsTask
from zoo.simulating.pool import ProgressCallback, run_trials
from zoo.simulating.trial import Trial, TrialOutcome

_TEST_INTERVAL = 10  # iterations, after which a model is tested, or after a round if that is longer


@dataclass(frozen=True)
class TrainingSetup:
    """A number of workers that average after every `tau` iterations; a single worker doesn't average."""

    workers: int
    tau: int
    batch: int


@dataclass(frozen=True)
class ConvergenceExperiment:
    """The settings of the experiment: the accuracy to reach, the number of random seeds, and the task."""

    goal: float = 0.96
    seeds: int = 3
    task: DigitsTask = field(default_factory=DigitsTask)

    def serial(self, batch: int | None = None) -> TrainingSetup:
        """The setup with a single machine."""
        return TrainingSetup(1, _TEST_INTERVAL, batch or self.task.batch)

    def parallel(self, workers: int, tau: int) -> TrainingSetup:
        """The setup with several machines, each with batches of the same size as a single one."""
        return self.serial() if workers == 1 else TrainingSetup(workers, tau, self.task.batch)

    def trials(self, setup: TrainingSetup) -> list[Trial]:
        """A trial for each seed, with time measured in iterations."""
        task = replace(self.task, batch=setup.batch)
        settings = [task.settings(seed, max(_TEST_INTERVAL, setup.tau)) for seed in range(1, self.seeds + 1)]
        plans = [Run(param, ModelAveraging(setup.tau), setup.workers) for param in settings]
        return [Trial(plan, Link(), Machines(1.0, setup.workers), self.goal) for plan in plans]


IterationsNeeded = dict[TrainingSetup, float | None]  # None if most runs never reach the accuracy


def iterations_needed(
    experiment: ConvergenceExperiment,
    setups: Sequence[TrainingSetup],
    report_progress: ProgressCallback,
    cache: TrialCache | None = None,
) -> IterationsNeeded:
    """The iterations that each setup needs: the median over the seeds."""
    unique_setups = list(dict.fromkeys(setups))
    outcomes = iter(
        run_trials([trial for setup in unique_setups for trial in experiment.trials(setup)], report_progress, cache)
    )
    return {setup: _median(experiment, [next(outcomes) for _ in range(experiment.seeds)]) for setup in unique_setups}


def _median(experiment: ConvergenceExperiment, outcomes: list[TrialOutcome]) -> float | None:
    points = [outcome.first_reaching(experiment.goal) for outcome in outcomes]
    iterations = median(float("inf") if point is None else point.iteration for point in points)
    return None if iterations == float("inf") else iterations
