"""The iterations that workers need, estimated from trainings in the simulator, and the tau that is best then."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from caffe_proto.errors import FileError
from caffe_proto.storage import write_pieces
from netdsl.errors import DistributedError

DIGITS = Path(__file__).parent / "trainings" / "digits.json"


@dataclass(frozen=True)
class ConvergenceEstimate:
    """An estimate of how workers that average their models after every `tau` iterations learn, from other trainings.

    `factor` is N_a / (tau M_a): how many times as many iterations one worker needs as each of these. `inside` is
    whether their number and tau are between those of the trainings.
    """

    workers: int
    tau: int
    factor: float
    inside: bool
    source: str

    @property
    def work(self) -> float:
        """How many times as many batches all workers need together as one worker alone."""
        return self.workers / self.factor

    def __str__(self) -> str:
        text = (
            f"an estimate from {self.source}: with {self.workers} workers and tau {self.tau} one worker alone needs "
            f"{self.factor:.2g} times as many iterations as each of them"
        )
        return text if self.inside else f"{text}, which is outside those trainings and taken from the nearest of them"


class ConvergenceGrid(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The iterations that trainings of one task needed to reach the accuracy `goal`.

    `serial` are those of a single worker, `parallel` those of each of several, a row for every number of workers with a
    column for every tau. They are medians over the seeds, and None where most trainings never reached it. `command`
    makes such a file again.
    """

    task: str
    command: str
    goal: float
    seeds: int
    serial: float | None
    workers: tuple[int, ...]
    taus: tuple[int, ...]
    parallel: tuple[tuple[float | None, ...], ...]

    def __post_init__(self) -> None:
        rows = [self.workers, self.taus]
        sized = len(self.parallel) == len(self.workers) and {len(row) for row in self.parallel} == {len(self.taus)}
        ascending = all(row and row[0] >= 1 and list(row) == sorted(set(row)) for row in rows)
        counts = [self.serial, *(count for row in self.parallel for count in row)]
        if not (sized and ascending and all(count is None or 0 < count < math.inf for count in counts)):
            raise ValueError("its table isn't one of iterations by ascending numbers of workers and taus")

    def estimate(self, workers: int, tau: int) -> ConvergenceEstimate:
        """Return the estimate for workers that average after every `tau` iterations.

        It is interpolated between logarithms; outside the grid it is that of the nearest place in it. One worker alone
        is as quick as itself.
        """
        if workers < 1 or tau < 1:
            raise DistributedError(f"{workers} workers with tau {tau}: there is one of each at least")
        rows = (1, *self.workers) if self.workers[0] > 1 else self.workers
        between = [(row, column) for row in _neighbours(rows, workers) for column in _neighbours(self.taus, tau)]
        logs = [part * other * math.log(self._factor(rows[row], column)) for (row, part), (column, other) in between]
        inside = workers == 1 or (workers <= rows[-1] and self.taus[0] <= tau <= self.taus[-1])
        return ConvergenceEstimate(workers, tau, math.exp(sum(logs)), inside, self._source)

    def _factor(self, workers: int, column: int) -> float:
        if workers == 1:
            return 1.0
        count = self.parallel[self.workers.index(workers)][column]
        if self.serial is None or count is None:
            who = "one alone" if self.serial is None else f"{workers} workers with tau {self.taus[column]}"
            raise DistributedError(f"nothing can be estimated from {self._source}: {who} never reached it")
        return self.serial / count

    @property
    def _source(self) -> str:
        return f"trainings of {self.task} to {self.goal:.0%} accuracy"


def _neighbours(places: Sequence[int], value: int) -> list[tuple[int, float]]:
    """Return the indices of the places on both sides of a value, with their weights; only the nearest one's outside."""
    right = bisect_right(places, value)
    if right in (0, len(places)):
        return [(max(0, right - 1), 1.0)]
    left, step = right - 1, math.log(places[right] / places[right - 1])
    part = math.log(value / places[left]) / step
    return [(left, 1 - part), (right, part)] if part else [(left, 1.0)]


def read_grid(path: Path = DIGITS) -> ConvergenceGrid:
    """Read a grid that `zoo simulate speedup` has written; the default is ours, of a small net on digits."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ConvergenceGrid)
    except OSError as problem:
        raise FileError(f"{path}: can't be read: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise FileError(f"{path}: isn't a speedup.json of `zoo simulate speedup`: {problem}") from None


def write_grid(grid: ConvergenceGrid, path: Path) -> None:
    """Write a grid as JSON."""
    write_pieces(path, [msgspec.json.format(msgspec.json.encode(grid), indent=1) + b"\n"])


@dataclass(frozen=True)
class TauOptimum:
    """The tau with which workers are quickest, and how many times as fast as one they are."""

    tau: int
    speedup: float


def naive_speedup(workers: int, ratio: float) -> float:
    """Return how many times as fast as one are workers that divide every batch, if an exchange takes `ratio`
    iterations."""
    return 1 / (1 / workers + ratio)


def averaging_speedup(factor: float, tau: int, ratio: float) -> float:
    """Return how many times as fast as one are workers that exchange models after every `tau` iterations.

    `factor` is what it would be if exchanges cost nothing, N_a / (tau M_a), and `ratio` the iterations that an exchange
    takes.
    """
    return factor / (1 + ratio / tau)


def best_tau(factors: Mapping[int, float], ratio: float) -> TauOptimum | None:
    """Return the best of the taus for which it is known how fast workers would be if exchanges cost nothing."""
    optima = [TauOptimum(tau, averaging_speedup(factor, tau, ratio)) for tau, factor in factors.items()]
    return max(optima, key=lambda optimum: (optimum.speedup, optimum.tau), default=None)


@dataclass(frozen=True)
class EstimatedTau(TauOptimum):
    """The best tau as far as other trainings tell, and what they tell of it."""

    estimate: ConvergenceEstimate


def estimate_best_tau(grid: ConvergenceGrid, workers: int, ratio: float) -> EstimatedTau:
    """Estimate the best tau of this many workers among all within a grid of trainings."""
    estimates = {tau: grid.estimate(workers, tau) for tau in range(min(grid.taus), max(grid.taus) + 1)}
    optimum = best_tau({tau: estimate.factor for tau, estimate in estimates.items()}, ratio)
    assert optimum is not None
    return EstimatedTau(optimum.tau, optimum.speedup, estimates[optimum.tau])
