"""The speed of the machines of a simulated world."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from netdsl.errors import DistributedError


@dataclass(frozen=True)
class Machines:
    """The pace of a world: the seconds of an iteration, by a worker's rank and the iteration's number.

    The last `stragglers` of `size` workers take `slowdown` times as long as the others, and the last `lost` are lost
    after `lost_after` iterations, for good. `jitter` is the standard
    deviation of the logarithm of an iteration's time, which is lognormal; it doesn't change the mean.
    """

    step: float = 0.0
    size: int = 1
    stragglers: int = 0
    slowdown: float = 2.0
    jitter: float = 0.0
    lost: int = 0
    lost_after: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.stragglers <= self.size:
            raise DistributedError(f"{self.stragglers} stragglers of {self.size} workers")
        if not 0 <= self.lost < self.size:
            raise DistributedError(f"{self.lost} of {self.size} workers can't be lost; the first one is always left")
        if self.step < 0 or self.jitter < 0 or self.slowdown <= 0:
            raise DistributedError("a step and its jitter can't be negative, and slowdown must be above 0")

    def __call__(self, rank: int, iteration: int) -> float:
        """The seconds that a worker takes for an iteration."""
        if self.lost and rank >= self.size - self.lost and iteration > self.lost_after:
            return math.inf
        slow = self.slowdown if rank >= self.size - self.stragglers else 1.0
        return self.step * slow * self._chance(rank, iteration)

    def _chance(self, rank: int, iteration: int) -> float:
        if not self.jitter:
            return 1.0
        random = np.random.default_rng((self.seed, rank, iteration))
        return float(random.lognormal(-(self.jitter**2) / 2, self.jitter))
