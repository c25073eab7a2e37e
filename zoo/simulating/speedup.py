"""SparkNet's Figure 3: how much faster several machines are when exchanging costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.simulating.cache import Cache
from zoo.simulating.needed import Question, needed
from zoo.simulating.pool import Told

TAUS = (1, 2, 5, 10, 25, 100, 250)
WORKERS = (1, 2, 3, 4, 5, 6)


@dataclass(frozen=True)
class Speedup:
    """The iterations N_a of a single machine, and tau M_a of `workers` that average after every `tau`."""

    workers: int
    tau: int
    serial: float | None
    parallel: float | None

    @property
    def factor(self) -> float | None:
        """N_a / (tau M_a)."""
        return None if self.serial is None or self.parallel is None else self.serial / self.parallel


def speedups(
    question: Question,
    told: Told,
    cache: Cache | None = None,
    *,
    workers: Sequence[int] = WORKERS,
    taus: Sequence[int] = TAUS,
) -> list[Speedup]:
    """Row by row: for each number of workers, each tau."""
    places = {(count, tau): question.parallel(count, tau) for count in workers for tau in taus}
    found = needed(question, [question.serial(), *places.values()], told, cache)
    serial = found[question.serial()]
    return [Speedup(count, tau, serial, found[cell]) for (count, tau), cell in places.items()]
