"""How long a training is, in iterations of a solver: its epochs, and the intervals of its tests and snapshots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from netdsl.errors import SolverError

NEVER = Fraction(0)  # as an interval


@dataclass(frozen=True)
class Epoch:
    """An epoch, in which all workers together see each item once.

    `iterations` is a fraction, since a batch that begins at the end of the items goes on with the first ones.
    """

    iterations: Fraction

    @classmethod
    def of(cls, batches: Fraction, *, iter_size: int = 1, batches_at_once: int = 1) -> Self:
        """Return the epoch of items that make this many batches of the net; workers see `batches_at_once` of them
        together."""
        return cls(batches / (iter_size * batches_at_once))

    def iterations_of(self, epochs: float) -> int:
        """Return the iterations after which every item was seen `epochs` times, rounded up to a whole number."""
        if not 0 < epochs < math.inf:
            raise SolverError(f"epochs is {epochs}; it must be more than 0")
        return math.ceil(self.iterations * Fraction(str(epochs)))

    @property
    def interval(self) -> int:
        """The whole number of iterations that is nearest to an epoch, for settings that can't say it more precisely."""
        return max(1, math.floor(self.iterations + Fraction(1, 2)))


@dataclass(frozen=True)
class Intervals:
    """The iterations between two tests, and between two snapshots; 0 where there are none.

    They are whole numbers, or epochs. A test or a snapshot is due in the first iteration at whose end one more interval
    is complete: of whole numbers, Caffe's rule, these are the iterations that the interval divides.
    """

    test: Fraction = NEVER
    snapshot: Fraction = NEVER

    def next_due(self, iteration: int) -> int | None:
        """Return the next iteration after this one in which a test or a snapshot is due, if there is one."""
        intervals = (interval for interval in (self.test, self.snapshot) if interval)
        return min((max(iteration + 1, _next_end(interval, iteration)) for interval in intervals), default=None)


def is_due(interval: Fraction, before: int, iteration: int) -> bool:
    """Return whether an interval ended after the iteration `before`, and up to this one."""
    return interval > 0 and iteration // interval > before // interval


def _next_end(interval: Fraction, iteration: int) -> int:
    return math.ceil((iteration // interval + 1) * interval)
