"""Heartbeats: whether a worker computes or waits for others, and what its supervisor concludes from that."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netdsl.distributed.control.protocol import Ending, Sign

if TYPE_CHECKING:
    from torch import Tensor

    from netdsl.distributed.communicator import Communicator, Handle, SharedVariable


_BUSY = 0.005  # seconds of processor time between two signs; what an idle process uses is far below
START = 300.0  # seconds for all workers to begin, which includes loading torch on a busy machine
_STUCK = 5.0  # deadlines in which everybody only waits
_STOPPED = 5.0  # seconds between two looks: this process itself was stopped, perhaps with all others


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
        """Return the sign since the last call, if there was one."""
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
        """Return a variable that all workers share."""
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


@dataclass
class _WorkerHealth:
    host: str
    alive: float  # the time of the last heartbeat
    worked: float  # of the last one that isn't of waiting
    ending: Ending | None = None
    reason: str = ""
    takes_part: bool = False  # else it waits for the others


@dataclass
class Health:
    """The health of workers that have a deadline for their heartbeats. `size` of them are needed."""

    size: int
    deadline: float
    workers: dict[int, _WorkerHealth] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._looked = self._since

    def welcome(self, rank: int, host: str) -> None:
        """Note that a worker begins."""
        now = time.monotonic()
        self.workers[rank] = _WorkerHealth(host, now, now)

    def note_sign(self, rank: int, sign: Sign) -> None:
        """Note that a worker is alive."""
        worker, now = self.workers[rank], time.monotonic()
        worker.alive = now
        if sign is Sign.WORKING:
            worker.worked = now

    def note_end(self, rank: int, ending: Ending, reason: str = "") -> None:
        """Note that a worker ended; what it said itself counts, not what is seen later."""
        worker = self.workers.setdefault(rank, _WorkerHealth("", 0.0, 0.0))
        if worker.ending is None:
            worker.ending, worker.reason = ending, reason

    def forget(self, rank: int) -> None:
        """Forget a worker that was lost."""
        self.workers.pop(rank, None)
        self._since = time.monotonic()

    def note_join(self, ranks: Iterable[int]) -> None:
        """Note that workers take part from now on."""
        for rank in ranks:
            self.workers[rank].takes_part = True

    def note_left(self, rank: int) -> None:
        """Note that a worker waits until it takes part again."""
        self.workers[rank].takes_part = False
        self._since = time.monotonic()

    def done(self, rank: int) -> bool:
        """Return whether a worker came to a good end."""
        return rank in self.workers and self.workers[rank].ending is Ending.DONE

    def waiting(self) -> set[int]:
        """Return the workers that have begun, and don't take part."""
        return {rank for rank, worker in self.workers.items() if worker.ending is None and not worker.takes_part}

    def taking_part(self) -> set[int]:
        """Return the workers that take part, and haven't ended."""
        return {rank for rank, worker in self.workers.items() if worker.ending is None and worker.takes_part}

    def lost(self) -> set[int]:
        """Return the workers that ended badly, or give no sign of life any more."""
        bad = {rank for rank, worker in self.workers.items() if worker.ending not in (None, Ending.DONE)}
        return bad | {*self.hung()}

    def running(self, rank: int) -> bool:
        """Return whether a worker has begun and not ended."""
        return rank in self.workers and self.workers[rank].ending is None

    def name(self, rank: int) -> str:
        """Return a worker as messages call it; its host is named where there are several."""
        hosts = {worker.host for worker in self.workers.values()}
        return f"worker {rank} on {self.workers[rank].host}" if len(hosts) > 1 else f"worker {rank}"

    def blame(self) -> str:
        """Who ended badly, and why: those whose ends say most about it."""
        bad = {rank: each for rank, each in self.workers.items() if each.ending not in (None, Ending.DONE)}
        worst = min((worker.ending or Ending.CRASHED for worker in bad.values()), default=None)
        return "; ".join(f"{self.name(rank)} {each.reason}" for rank, each in bad.items() if each.ending is worst)

    def hung(self) -> list[int]:
        """Return the running workers without a heartbeat for the deadline."""
        now = self._time_awake()
        return [
            rank
            for rank, worker in self.workers.items()
            if worker.ending is None and now - max(worker.alive, self._since) > self.deadline
        ]

    def standstill(self) -> str:
        """Why nothing gets on although nobody is hung, if that is so."""
        now = self._time_awake()
        if len(self.workers) < self.size and now - self._since > START:
            return f"only {len(self.workers)} of {self.size} workers began within {START:g} s"
        worked = max((self.workers[rank].worked for rank in self.taking_part()), default=now)
        if now - max(worked, self._since) > _STUCK * self.deadline:
            return f"all workers wait for each other since {_STUCK * self.deadline:g} s"
        return ""

    def _time_awake(self) -> float:
        """Return the time. What lies before a pause of this process itself counts for nobody."""
        now = time.monotonic()
        if now - self._looked > _STOPPED:
            self._since = now
        self._looked = now
        return now
