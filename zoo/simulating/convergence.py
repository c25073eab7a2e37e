"""SparkNet's Figures 3 and 4: the number of iterations in which workers reach an accuracy, and the resulting
speed-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from netdsl.distributed.machines import ExchangeKind, Link, Machines
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.planner.convergence import ConvergenceGrid, best_tau, naive_speedup
from zoo.simulating.digits import DigitsTask, whole_rounds
from zoo.simulating.trials import (
    ProgressCallback,
    StepMeasurement,
    Trial,
    TrialCache,
    TrialOutcome,
    measure_step,
    run_trials,
)

_TEST_INTERVAL = 10  # minimum number of iterations before a model is tested, at the end of a round

BATCHES = (4, 8, 16, 32, 64)
RATIOS = tuple(10 ** (power / 8) for power in range(-16, 25))  # S / C(b)


@dataclass(frozen=True)
class TrainingSetup:
    """A number of workers that average after every `tau` iterations. A single worker doesn't average."""

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
        """Return the setup with a single machine."""
        return TrainingSetup(1, _TEST_INTERVAL, batch or self.task.batch)

    def parallel(self, workers: int, tau: int) -> TrainingSetup:
        """Return the setup with several machines, each with batches of the same size as a single one."""
        return self.serial() if workers == 1 else TrainingSetup(workers, tau, self.task.batch)

    def trials(self, setup: TrainingSetup) -> list[Trial]:
        """Return a trial for each seed, with time measured in iterations."""
        task = replace(self.task, batch=setup.batch)
        interval = whole_rounds(_TEST_INTERVAL, setup.tau)
        settings = [task.settings(seed, interval) for seed in range(1, self.seeds + 1)]
        plans = [Run(param, ModelAveraging(setup.tau), setup.workers) for param in settings]
        return [Trial(plan, Link(), Machines(1.0, setup.workers), self.goal) for plan in plans]


IterationsNeeded = dict[TrainingSetup, float | None]  # None if most runs never reach the accuracy


def iterations_needed(
    experiment: ConvergenceExperiment,
    setups: Sequence[TrainingSetup],
    report_progress: ProgressCallback,
    cache: TrialCache | None = None,
) -> IterationsNeeded:
    """Return the number of iterations that each setup needs, as the median over the seeds."""
    unique_setups = list(dict.fromkeys(setups))
    outcomes = iter(
        run_trials([trial for setup in unique_setups for trial in experiment.trials(setup)], report_progress, cache)
    )
    return {
        setup: _median_iterations(experiment, [next(outcomes) for _ in range(experiment.seeds)])
        for setup in unique_setups
    }


def _median_iterations(experiment: ConvergenceExperiment, outcomes: list[TrialOutcome]) -> float | None:
    points = [outcome.first_reaching(experiment.goal) for outcome in outcomes]
    iterations = median(float("inf") if point is None else point.iteration for point in points)
    return None if iterations == float("inf") else iterations


@dataclass(frozen=True)
class Speedup:
    """The number of iterations N_a of a single machine, and tau M_a of `workers` that average after every `tau`."""

    workers: int
    tau: int
    serial: float | None
    parallel: float | None

    @property
    def factor(self) -> float | None:
        """The speed-up N_a / (tau M_a), or None if the accuracy was never reached."""
        return None if self.serial is None or self.parallel is None else self.serial / self.parallel


def speedups(
    experiment: ConvergenceExperiment,
    report_progress: ProgressCallback,
    cache: TrialCache | None = None,
    *,
    workers: Sequence[int],
    taus: Sequence[int],
) -> list[Speedup]:
    """Return the speed-ups of each number of workers with each tau, row by row."""
    setups = {(count, tau): experiment.parallel(count, tau) for count in workers for tau in taus}
    iterations = iterations_needed(experiment, [experiment.serial(), *setups.values()], report_progress, cache)
    serial = iterations[experiment.serial()]
    return [Speedup(count, tau, serial, iterations[setup]) for (count, tau), setup in setups.items()]


def convergence_grid(experiment: ConvergenceExperiment, speedups: Sequence[Speedup]) -> ConvergenceGrid:
    """Return the iterations that trainings needed, in the form that the planner reads."""
    workers, taus = (
        sorted(set(values)) for values in zip(*((each.workers, each.tau) for each in speedups), strict=True)
    )
    serial, parallel = speedups[0].serial, {(each.workers, each.tau): each.parallel for each in speedups}
    words = ["--workers", _comma_list(workers), "--taus", _comma_list(taus), "--accuracy", f"{experiment.goal:g}"]
    words += ["--seeds", str(experiment.seeds), "--iterations", str(experiment.task.iterations)]
    return ConvergenceGrid(
        task=f"a small net on digits, batch {experiment.task.batch}, rate {experiment.task.rate:g}",
        command=" ".join(["zoo simulate speedup", *words]),
        goal=experiment.goal,
        seeds=experiment.seeds,
        serial=serial,
        workers=tuple(workers),
        taus=tuple(taus),
        parallel=tuple(tuple(parallel[count, tau] for tau in taus) for count in workers),
    )


def _comma_list(values: Sequence[int]) -> str:
    return ",".join(map(str, values))


@dataclass(frozen=True)
class ExchangeCost:
    """Speed-ups if an exchange takes as long as `ratio` iterations, for gradients in each iteration, and for models at
    the best tau."""

    ratio: float
    naive: float
    averaging: float | None
    tau: int | None


def costs(speedups: Sequence[Speedup]) -> list[ExchangeCost]:
    """Return the speed-ups for each ratio. They are computed from the cost-free speed-ups of one number of workers."""
    return [_cost_at(ratio, speedups) for ratio in RATIOS]


def _cost_at(ratio: float, speedups: Sequence[Speedup]) -> ExchangeCost:
    optimum = best_tau({speedup.tau: speedup.factor for speedup in speedups if speedup.factor is not None}, ratio)
    naive = naive_speedup(speedups[0].workers, ratio)
    return ExchangeCost(ratio, naive, *((None, None) if optimum is None else (optimum.speedup, optimum.tau)))


@dataclass(frozen=True)
class BatchCost:
    """The cost of a batch on this machine, and the number of iterations N_a(b) that one machine needs with such
    batches."""

    batch: int
    step: float  # C(b), in seconds
    exchange: float  # S, in seconds
    iterations: float | None


def batch_costs(
    experiment: ConvergenceExperiment,
    workers: int,
    link: Link,
    report_progress: ProgressCallback,
    cache: TrialCache | None = None,
) -> list[BatchCost]:
    """Return the costs of batches of several sizes, all trained with the same learning rate."""
    iterations = iterations_needed(experiment, [experiment.serial(batch) for batch in BATCHES], report_progress, cache)
    rows = []
    for batch in BATCHES:
        plan = Run(replace(experiment.task, batch=batch).settings(1, 1), ModelAveraging(), 1)
        measurement: StepMeasurement = measure_step(plan)
        exchange = link.seconds(ExchangeKind.MEAN, workers, measurement.bytes)
        rows.append(BatchCost(batch, measurement.step, exchange, iterations[experiment.serial(batch)]))
    return rows
