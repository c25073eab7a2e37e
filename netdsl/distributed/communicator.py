"""The interfaces through which workers exchange buffers, whichever transport moves them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor


@dataclass
class Exchange:
    """The cost of one exchange that takes place."""

    waited: float = 0.0
    bytes: int = 0


@dataclass
class Traffic:
    """The cost of a worker's exchanges until now, as running sums over all lanes. The sums only grow."""

    waited: float = 0.0  # seconds during which an exchange waited for another worker to join it
    moved: float = 0.0  # seconds during which buffers were copied, added or transferred
    bytes: int = 0  # sent and received by this worker
    _adding: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, *, waited: float = 0.0, moved: float = 0.0, count: int = 0) -> None:
        """Add the seconds and the bytes of one more exchange. Several lanes may call this at the same time."""
        with self._adding:
            self.waited += waited
            self.moved += moved
            self.bytes += count

    @contextmanager
    def exchange(self) -> Iterator[Exchange]:
        """Measure one exchange, and add its cost at its end. The time during which it doesn't wait counts as moved."""
        exchange, start = Exchange(), time.monotonic()
        yield exchange
        moved = time.monotonic() - start - exchange.waited
        self.add(waited=exchange.waited, moved=moved, count=exchange.bytes)


class Handle(Protocol):
    """An exchange in progress. The exchange owns the buffer until it is complete."""

    def done(self) -> bool:
        """Return whether the exchange is complete. Never waits."""
        ...

    def wait(self) -> None:
        """Wait until the exchange is complete. Raises a `PeerLostError` if a worker is lost."""
        ...


class Communicator(Protocol):
    """One of `size` workers that exchange buffers. Buffers are contiguous and on one device.

    Operations in one lane happen one after the other, and all workers must request the same ones in the same order.
    Operations in different lanes may happen at the same time.
    """

    rank: int
    size: int
    traffic: Traffic

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Handle:
        """Replace every worker's buffer with the weighted mean of all buffers, with the same bits on every worker."""
        ...

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Handle:
        """Replace the root's buffer with the weighted mean. The other workers' buffers stay as they are."""
        ...

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Handle:
        """Replace every worker's buffer with the root's."""
        ...

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Handle:
        """Send a buffer to a worker that receives a buffer of the same size in the same lane."""
        ...

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Handle:
        """Fill a buffer with the values that another worker sends."""
        ...

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Return the numbers of all workers, by rank, after waiting for them. Every worker must pass the same number of
        values."""
        ...

    def barrier(self) -> None:
        """Wait until all other workers have called this too."""
        ...

    def shared_variable(self, buffer: Tensor) -> SharedVariable:
        """Return a variable that all workers share. Its initial value is the first worker's buffer."""
        ...

    def close(self) -> None:
        """Release threads, memory and connections. No thread may still be using them."""
        ...


class SharedVariable(Protocol):
    """A variable that every worker reads and changes whenever it likes.

    The operations of a worker happen one after the other, so a worker always reads its own changes.
    """

    def exchange(self, buffer: Tensor, alpha: float) -> Handle:
        """Move the buffer and the variable towards each other by `alpha` times their difference.

        When this returns, the buffer has moved towards the values that were read from the variable, and belongs to the
        caller again. The exchange is complete when the variable has moved too. The same difference is added to the
        variable's value at that time, so no worker's change is lost.
        """
        ...

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with the variable's values."""
        ...

    def write(self, buffer: Tensor) -> None:
        """Set the variable to a buffer's values. No other worker may be using it."""
        ...
