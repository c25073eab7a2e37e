"""What time it is for a worker: the machine's own, or a simulator's."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """The time, and whoever must know that some of it was used."""

    def now(self) -> float:
        """Seconds since some beginning, which all workers of a machine share."""
        ...

    def computed(self, iteration: int) -> None:
        """An iteration was computed, from the last call of this clock until now."""
        ...


class RealClock:
    """The machine's, on which time passes by itself."""

    def now(self) -> float:
        """The same beginning for all processes of a machine."""
        return time.time()

    def computed(self, iteration: int) -> None:
        """Nothing is left to do."""
