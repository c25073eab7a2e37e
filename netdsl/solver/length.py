"""The length of a training in iterations of a solver: its epochs, and the intervals of its tests and snapshots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from netdsl.errors import SolverError

NEVER = Fraction(0)  # an interval that never ends


@dataclass(frozen=True)
class Epoch:
    """An epoch, in which all workers together see each item once.

    `iterations` is a fraction, since a batch that starts at the last items continues with the first ones.
    """

    iterations: Fraction

    @classmethod
    def of(cls, batches: Fraction, *, iter_size: int = 1, batches_at_once: int = 1) -> Self:
        """Return the epoch of items that fill this many batches of the net. Workers process `batches_at_once` of them
        at once."""
        return cls(batches / (iter_size * batches_at_once))

    def iterations_of(self, epochs: float) -> int:
        """Return the iterations after which every item has been seen `epochs` times, rounded up to a whole number."""
        if not 0 < epochs < math.inf:
            raise SolverError(f"epochs is {epochs}; give a number above 0")
        return math.ceil(self.iterations * Fraction(str(epochs)))

    @property
    def interval(self) -> int:
        """The number of iterations in an epoch, rounded to a whole number for settings that accept no fraction."""
        return max(1, math.floor(self.iterations + Fraction(1, 2)))


@dataclass(frozen=True)
class Intervals:
    """The iterations between two tests and between two snapshots, or 0 for none.

    Intervals are whole numbers, or fractions from epochs. A test or a snapshot is due in the first iteration that
    completes another interval. For whole numbers this is Caffe's rule: the interval divides the iteration's number.
    """

    test: Fraction = NEVER
    snapshot: Fraction = NEVER

    def next_due(self, iteration: int) -> int | None:
        """Return the next iteration after this one in which a test or a snapshot is due, or `None` if there is none."""
        intervals = (interval for interval in (self.test, self.snapshot) if interval)
        return min((max(iteration + 1, _next_end(interval, iteration)) for interval in intervals), default=None)


def is_due(interval: Fraction, before: int, iteration: int) -> bool:
    """Return whether an interval ended after the iteration `before`, up to and including this one."""
    return interval > 0 and iteration // interval > before // interval


def _next_end(interval: Fraction, iteration: int) -> int:
    return math.ceil((iteration // interval + 1) * interval)
