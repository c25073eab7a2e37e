"""Signs of life: whether a worker computes, or waits for others."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum

from torch import Tensor

from netdsl.distributed.communicator import Communicator, Handle, SharedVariable


class Sign(Enum):
    """What a worker has done since it was last asked."""

    WORKING = "working"
    WAITING = "waiting"


class Signs:
    """What a worker's own thread has given, for another one to pass on."""

    def __init__(self) -> None:
        self._given, self._waiting = threading.Event(), False

    def give(self) -> None:
        """The worker gets on."""
        self._given.set()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While it waits for others it is alive."""
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False
            self.give()

    def taken(self) -> Sign | None:
        """The sign since the last call, if there was one."""
        if self._given.is_set():
            self._given.clear()
            return Sign.WORKING
        return Sign.WAITING if self._waiting else None


class Lively:
    """A communicator whose worker gives signs of life."""

    def __init__(self, communicator: Communicator, signs: Signs) -> None:
        self._communicator, self._signs = communicator, signs
        self.rank, self.size, self.traffic = communicator.rank, communicator.size, communicator.traffic

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Handle:
        """Everybody's weighted mean."""
        return _LivelyHandle(self._communicator.mean(buffer, weight, lane=lane), self._signs)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Handle:
        """The same for one worker only."""
        return _LivelyHandle(self._communicator.reduce(buffer, weight, root=root, lane=lane), self._signs)

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Handle:
        """Everybody's buffer becomes the root's."""
        return _LivelyHandle(self._communicator.broadcast(buffer, root=root, lane=lane), self._signs)

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Handle:
        """A buffer for another worker."""
        return _LivelyHandle(self._communicator.send(buffer, to=to, lane=lane), self._signs)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Handle:
        """What another worker sends."""
        return _LivelyHandle(self._communicator.receive(buffer, source=source, lane=lane), self._signs)

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """A few numbers of everybody."""
        with self._signs.waiting():
            return self._communicator.gather(values)

    def barrier(self) -> None:
        """Wait for all others."""
        with self._signs.waiting():
            self._communicator.barrier()

    def centre(self, buffer: Tensor) -> SharedVariable:
        """A variable that all share."""
        with self._signs.waiting():
            return _LivelyCentre(self._communicator.centre(buffer), self._signs)

    def alive(self) -> None:
        """A sign of life."""
        self._signs.give()


class _LivelyHandle:
    def __init__(self, handle: Handle, signs: Signs) -> None:
        self._handle, self._signs = handle, signs

    def done(self) -> bool:
        return self._handle.done()

    def wait(self) -> None:
        with self._signs.waiting():
            self._handle.wait()


class _LivelyCentre:
    def __init__(self, centre: SharedVariable, signs: Signs) -> None:
        self._centre, self._signs = centre, signs

    def exchange(self, buffer: Tensor, alpha: float) -> None:
        with self._signs.waiting():
            self._centre.exchange(buffer, alpha)

    def read(self, buffer: Tensor) -> None:
        with self._signs.waiting():
            self._centre.read(buffer)

    def write(self, buffer: Tensor) -> None:
        with self._signs.waiting():
            self._centre.write(buffer)
