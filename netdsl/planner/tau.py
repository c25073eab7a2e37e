"""The iterations between exchanges with which training is quickest, by SparkNet's formulas.

SparkNet's rule of thumb, which needs no trainings to compare, is `iterations_per_round`: workers go by it themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netdsl.planner.convergence_grid import ConvergenceEstimate, ConvergenceGrid


@dataclass(frozen=True)
class TauOptimum:
    """The tau with which workers are quickest, and how many times as fast as one they are."""

    tau: int
    speedup: float


def naive_speedup(workers: int, ratio: float) -> float:
    """How many times as fast as one are workers that divide every batch, if an exchange takes `ratio` iterations."""
    return 1 / (1 / workers + ratio)


def averaging_speedup(factor: float, tau: int, ratio: float) -> float:
    """How many times as fast as one are workers that exchange models after every `tau` iterations.

    `factor` is what it would be if exchanges cost nothing, N_a / (tau M_a), and `ratio` the iterations that an exchange
    takes.
    """
    return factor / (1 + ratio / tau)


def best_tau(factors: Mapping[int, float], ratio: float) -> TauOptimum | None:
    """The best of the taus for which it is known how fast workers would be if exchanges cost nothing."""
    optima = [TauOptimum(tau, averaging_speedup(factor, tau, ratio)) for tau, factor in factors.items()]
    return max(optima, key=lambda optimum: (optimum.speedup, optimum.tau), default=None)


@dataclass(frozen=True)
class EstimatedTau(TauOptimum):
    """The best tau as far as other trainings tell, and what they tell of it."""

    estimate: ConvergenceEstimate


def estimate_best_tau(grid: ConvergenceGrid, workers: int, ratio: float) -> EstimatedTau:
    """Estimate the best tau of so many workers among all within a grid of trainings."""
    estimates = {tau: grid.estimate(workers, tau) for tau in range(min(grid.taus), max(grid.taus) + 1)}
    optimum = best_tau({tau: estimate.factor for tau, estimate in estimates.items()}, ratio)
    assert optimum is not None
    return EstimatedTau(optimum.tau, optimum.speedup, estimates[optimum.tau])
