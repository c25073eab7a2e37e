"""What workers exchange buffers with, whichever transport moves them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor


@dataclass
class Traffic:
    """What a worker's exchanges cost until now: running sums over all lanes, which only grow."""

    waited: float = 0.0  # seconds in which an exchange was asked for that another worker hadn't come to
    moved: float = 0.0  # seconds in which buffers were copied, added or on their way
    bytes: int = 0  # sent and received by this worker
    _adding: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, *, waited: float = 0.0, moved: float = 0.0, count: int = 0) -> None:
        """Add the seconds and the count of bytes of one exchange more; lanes do so at the same time."""
        with self._adding:
            self.waited += waited
            self.moved += moved
            self.bytes += count


class Handle(Protocol):
    """An exchange under way. The buffer belongs to it until it is done."""

    def done(self) -> bool:
        """Return whether it is over; never waits."""
        ...

    def wait(self) -> None:
        """Wait until it is over. A PeerLostError if a worker is lost."""
        ...


class Communicator(Protocol):
    """One of `size` workers that exchange buffers, which are contiguous and lie on one device.

    Operations in one lane happen one after the other, and all workers must ask for the same ones in the same order.
    Operations in several lanes may happen at once.
    """

    rank: int
    size: int
    traffic: Traffic

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Handle:
        """Replace everybody's buffer by their weighted mean, the same bits for all."""
        ...

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Handle:
        """Replace the root's buffer by the weighted mean; the others' stay as they are."""
        ...

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Handle:
        """Replace everybody's buffer by the root's."""
        ...

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Handle:
        """Send a buffer to a worker that receives one of the same size in the same lane."""
        ...

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Handle:
        """Fill a buffer with what a worker sends."""
        ...

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Everybody's numbers, by rank; everybody must give as many. Waits for all others."""
        ...

    def barrier(self) -> None:
        """Wait for all others."""
        ...

    def shared_variable(self, buffer: Tensor) -> SharedVariable:
        """Return a variable that all workers share; it begins as the first worker's buffer."""
        ...

    def close(self) -> None:
        """Let go of threads, memory and connections. Nobody may be using them."""
        ...


class SharedVariable(Protocol):
    """A variable that every worker reads and changes when it likes.

    A worker's operations happen one after the other: what it reads has its own changes.
    """

    def exchange(self, buffer: Tensor, alpha: float) -> Handle:
        """Draw the buffer and the variable together: each moves by `alpha` of their difference.

        When this returns, the buffer has moved towards the variable's values as they were read, and belongs to the
        caller. The exchange is over when the variable has moved by the same difference, which is added to what the
        variable is by then, so that no worker's change is lost.
        """
        ...

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with the variable's values."""
        ...

    def write(self, buffer: Tensor) -> None:
        """Set the variable. Nobody else may be using it."""
        ...
