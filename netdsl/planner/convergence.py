"""Estimates the iterations that workers need from trainings in the simulator, and the tau that is best then."""

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
    """An estimate of how fast workers learn that average their models after every `tau` iterations.

    It is based on other trainings. `factor` is N_a / (tau M_a), the ratio of the iterations of one worker alone to
    those of each of the workers. `inside` is whether the number of workers and tau are within the range of those
    trainings.
    """

    workers: int
    tau: int
    factor: float
    inside: bool
    source: str

    @property
    def work(self) -> float:
        """The ratio of the batches that all workers need together to those of one worker alone."""
        return self.workers / self.factor

    def __str__(self) -> str:
        text = (
            f"an estimate from {self.source}: with {self.workers} workers and tau {self.tau}, one worker alone "
            f"needs {self.factor:.2g} times as many iterations as each of them"
        )
        return (
            text
            if self.inside
            else f"{text}, which is outside the range of those trainings, so the nearest one is used"
        )


class ConvergenceGrid(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The iterations that trainings of one task needed to reach the accuracy `goal`.

    `serial` is for a single worker. `parallel` is for each of several workers, with a row for every number of workers
    and a column for every tau. The values are medians over the seeds, or `None` if most trainings never reached the
    goal. `command` creates the file again.
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
            raise ValueError("the table isn't one of iterations by ascending numbers of workers and taus")

    def estimate(self, workers: int, tau: int) -> ConvergenceEstimate:
        """Return the estimate for workers that average after every `tau` iterations.

        It is interpolated between logarithms. Outside the grid it is the value at the nearest point. The factor of one
        worker alone is 1.
        """
        if workers < 1 or tau < 1:
            raise DistributedError(
                f"nothing can be estimated for {workers} workers with tau {tau}; give at least 1 of each"
            )
        rows = (1, *self.workers) if self.workers[0] > 1 else self.workers
        between = [(row, column) for row in _neighbors(rows, workers) for column in _neighbors(self.taus, tau)]
        logs = [part * other * math.log(self._factor(rows[row], column)) for (row, part), (column, other) in between]
        inside = workers == 1 or (workers <= rows[-1] and self.taus[0] <= tau <= self.taus[-1])
        return ConvergenceEstimate(workers, tau, math.exp(sum(logs)), inside, self._source)

    def _factor(self, workers: int, column: int) -> float:
        if workers == 1:
            return 1.0
        count = self.parallel[self.workers.index(workers)][column]
        if self.serial is None or count is None:
            who = "one worker alone" if self.serial is None else f"{workers} workers with tau {self.taus[column]}"
            raise DistributedError(
                f"nothing can be estimated from {self._source}, because {who} never reached it; raise the "
                "number of iterations, or lower the accuracy"
            )
        return self.serial / count

    @property
    def _source(self) -> str:
        return f"trainings of {self.task} to {self.goal:.0%} accuracy"


def _neighbors(places: Sequence[int], value: int) -> list[tuple[int, float]]:
    """Return the indices of the values on both sides of a value, with their weights. Outside, return only the nearest
    one."""
    right = bisect_right(places, value)
    if right in (0, len(places)):
        return [(max(0, right - 1), 1.0)]
    left, step = right - 1, math.log(places[right] / places[right - 1])
    part = math.log(value / places[left]) / step
    return [(left, 1 - part), (right, part)] if part else [(left, 1.0)]


def read_grid(path: Path = DIGITS) -> ConvergenceGrid:
    """Read a grid that `zoo simulate speedup` has written. The default is netdsl's own, from a small net on digits."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ConvergenceGrid)
    except OSError as problem:
        raise FileError(
            f"{path}: the file can't be read: {problem.strerror}; check the path and its permissions"
        ) from None
    except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise FileError(
            f"{path}: not a speedup.json of `zoo simulate speedup`: {problem}; write it again with that command"
        ) from None


def write_grid(grid: ConvergenceGrid, path: Path) -> None:
    """Write a grid as JSON."""
    write_pieces(path, [msgspec.json.format(msgspec.json.encode(grid), indent=1) + b"\n"])


@dataclass(frozen=True)
class TauOptimum:
    """The tau with which workers are fastest, and their speed relative to one worker."""

    tau: int
    speedup: float


def naive_speedup(workers: int, ratio: float) -> float:
    """Return the speed, relative to one worker, of workers that divide every batch. An exchange takes `ratio`
    iterations."""
    return 1 / (1 / workers + ratio)


def averaging_speedup(factor: float, tau: int, ratio: float) -> float:
    """Return the speed, relative to one worker, of workers that exchange models after every `tau` iterations.

    `factor` is N_a / (tau M_a), the speed if exchanges cost nothing. An exchange takes `ratio` iterations.
    """
    return factor / (1 + ratio / tau)


def best_tau(factors: Mapping[int, float], ratio: float) -> TauOptimum | None:
    """Return the best of the taus, given the speed with each tau if exchanges cost nothing."""
    optima = [TauOptimum(tau, averaging_speedup(factor, tau, ratio)) for tau, factor in factors.items()]
    return max(optima, key=lambda optimum: (optimum.speedup, optimum.tau), default=None)


@dataclass(frozen=True)
class EstimatedTau(TauOptimum):
    """The best tau according to other trainings, with the estimate that they provide."""

    estimate: ConvergenceEstimate


def estimate_best_tau(grid: ConvergenceGrid, workers: int, ratio: float) -> EstimatedTau:
    """Estimate the best tau for this many workers among all taus within the range of a grid."""
    estimates = {tau: grid.estimate(workers, tau) for tau in range(min(grid.taus), max(grid.taus) + 1)}
    optimum = best_tau({tau: estimate.factor for tau, estimate in estimates.items()}, ratio)
    assert optimum is not None
    return EstimatedTau(optimum.tau, optimum.speedup, estimates[optimum.tau])
