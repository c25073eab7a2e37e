"""SparkNet's Figure 4: the speed-up of several machines by the cost of an exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from netdsl.distributed.machines import ExchangeKind, Link
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.planner.convergence import best_tau, naive_speedup
from zoo.simulating.cache import TrialCache
from zoo.simulating.convergence import ConvergenceExperiment, iterations_needed
from zoo.simulating.pool import ProgressCallback
from zoo.simulating.speedup import Speedup
from zoo.simulating.step_time import StepMeasurement, measure_step

BATCHES = (4, 8, 16, 32, 64)
RATIOS = tuple(10 ** (power / 8) for power in range(-16, 25))  # S / C(b)


@dataclass(frozen=True)
class ExchangeCost:
    """Speed-ups if an exchange takes `ratio` iterations: of gradients in each one, and of models at the best tau."""

    ratio: float
    naive: float
    averaging: float | None
    tau: int | None


def costs(speedups: Sequence[Speedup]) -> list[ExchangeCost]:
    """The speed-ups for each ratio, computed from those without any cost for one number of workers."""
    return [_cost_at(ratio, speedups) for ratio in RATIOS]


def _cost_at(ratio: float, speedups: Sequence[Speedup]) -> ExchangeCost:
    optimum = best_tau({speedup.tau: speedup.factor for speedup in speedups if speedup.factor is not None}, ratio)
    naive = naive_speedup(speedups[0].workers, ratio)
    return ExchangeCost(ratio, naive, *((None, None) if optimum is None else (optimum.speedup, optimum.tau)))


@dataclass(frozen=True)
class BatchCost:
    """The cost of a batch on this machine, and the iterations N_a(b) that one machine needs with such batches."""

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
    """The costs of batches of several sizes, all trained with the same learning rate."""
    iterations = iterations_needed(experiment, [experiment.serial(batch) for batch in BATCHES], report_progress, cache)
    rows = []
    for batch in BATCHES:
        plan = Run(replace(experiment.task, batch=batch).settings(1, 1), ModelAveraging(), 1)
        measurement: StepMeasurement = measure_step(plan)
        exchange = link.seconds(ExchangeKind.MEAN, workers, measurement.bytes)
        rows.append(BatchCost(batch, measurement.step, exchange, iterations[experiment.serial(batch)]))
    return rows
