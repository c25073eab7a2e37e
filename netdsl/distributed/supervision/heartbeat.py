"""Heartbeats: whether a worker computes, or waits for others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from netdsl.distributed.supervision.protocol import Sign

if TYPE_CHECKING:
    from torch import Tensor

    from netdsl.distributed.communicator import Communicator, Handle, SharedVariable


_BUSY = 0.005  # seconds of processor time between two signs; what an idle process uses is far below


class Pulse:
    """A worker's signs of life, given by its own thread and passed on by another one.

    Processor time that the process used is a sign, too: on a machine with too much to do an iteration may take longer
    than any deadline, and a worker that gets on slowly isn't lost.
    """

    def __init__(self, processor_time: Callable[[], float] = time.process_time) -> None:
        self._beat, self._waiting = threading.Event(), False
        self._processor_time, self._used = processor_time, processor_time()

    def beat(self) -> None:
        """Say that the worker gets on."""
        self._beat.set()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Say that the worker is alive while it waits for others."""
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False
            self.beat()

    def take(self) -> Sign | None:
        """The sign since the last call, if there was one."""
        before, self._used = self._used, self._processor_time()
        if self._beat.is_set():
            self._beat.clear()
            return Sign.WORKING
        if self._waiting:
            return Sign.WAITING
        return Sign.WORKING if self._used - before > _BUSY else None


class WatchedCommunicator:
    """A communicator whose worker counts as alive while it waits for others."""

    def __init__(self, communicator: Communicator, pulse: Pulse) -> None:
        self._communicator, self._pulse = communicator, pulse
        self.rank, self.size, self.traffic = communicator.rank, communicator.size, communicator.traffic

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Handle:
        """Replace everybody's buffer by their weighted mean."""
        return _WatchedHandle(self._communicator.mean(buffer, weight, lane=lane), self._pulse)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Handle:
        """Replace the root's buffer by the weighted mean."""
        return _WatchedHandle(self._communicator.reduce(buffer, weight, root=root, lane=lane), self._pulse)

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Handle:
        """Replace everybody's buffer by the root's."""
        return _WatchedHandle(self._communicator.broadcast(buffer, root=root, lane=lane), self._pulse)

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Handle:
        """Send a buffer to another worker."""
        return _WatchedHandle(self._communicator.send(buffer, to=to, lane=lane), self._pulse)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Handle:
        """Fill a buffer with what another worker sends."""
        return _WatchedHandle(self._communicator.receive(buffer, source=source, lane=lane), self._pulse)

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Everybody's numbers, by rank."""
        with self._pulse.waiting():
            return self._communicator.gather(values)

    def barrier(self) -> None:
        """Wait for all others."""
        with self._pulse.waiting():
            self._communicator.barrier()

    def shared_variable(self, buffer: Tensor) -> SharedVariable:
        """A variable that all workers share."""
        with self._pulse.waiting():
            return _WatchedVariable(self._communicator.shared_variable(buffer), self._pulse)

    def close(self) -> None:
        """Let go of the communicator."""
        self._communicator.close()


class _WatchedHandle:
    def __init__(self, handle: Handle, pulse: Pulse) -> None:
        self._handle, self._pulse = handle, pulse

    def done(self) -> bool:
        return self._handle.done()

    def wait(self) -> None:
        with self._pulse.waiting():
            self._handle.wait()


class _WatchedVariable:
    def __init__(self, variable: SharedVariable, pulse: Pulse) -> None:
        self._variable, self._pulse = variable, pulse

    def exchange(self, buffer: Tensor, alpha: float) -> Handle:
        with self._pulse.waiting():
            return _WatchedHandle(self._variable.exchange(buffer, alpha), self._pulse)

    def read(self, buffer: Tensor) -> None:
        with self._pulse.waiting():
            self._variable.read(buffer)

    def write(self, buffer: Tensor) -> None:
        with self._pulse.waiting():
            self._variable.write(buffer)
