"""What workers can say to each other, whatever carries it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from netdsl.distributed.traffic import Traffic


class Handle(Protocol):
    """An exchange under way. The buffer that was given belongs to it until it is done."""

    def done(self) -> bool:
        """Whether it is over; never waits."""
        ...

    def wait(self) -> None:
        """Wait until it is. A PeerLostError if a worker is gone or gives no sign of life for too long."""
        ...


class Communicator(Protocol):
    """One of `size` workers that exchange buffers, which are contiguous and lie on one device.

    Operations in one lane happen one after the other, and all workers must ask for the same ones in the same order.
    Lanes have nothing to do with each other, so that what is in several may happen at once.
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
        """A few numbers of everybody, by rank; everybody must give as many. Whoever asks waits for all others."""
        ...

    def barrier(self) -> None:
        """Wait for all others."""
        ...

    def centre(self, buffer: Tensor) -> SharedVariable:
        """A variable that all workers share; it begins as the first worker's buffer."""
        ...

    def alive(self) -> None:
        """A sign of life. Whoever computes for long without one, or without waiting here, counts as lost."""
        ...


class SharedVariable(Protocol):
    """A variable in the midst of all workers, to which each goes when it likes."""

    def exchange(self, buffer: Tensor, alpha: float) -> None:
        """Draw the buffer and the variable together: each moves by `alpha` of their difference, undisturbed."""
        ...

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with what it is now."""
        ...

    def write(self, buffer: Tensor) -> None:
        """Set it. Nobody else may be using it."""
        ...
