"""Heartbeats, which show the supervisor whether a worker computes or waits for others."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netdsl.distributed.control.protocol import Ending, Sign

if TYPE_CHECKING:
    from torch import Tensor

    from netdsl.distributed.communicator import Communicator, Handle, SharedVariable


_BUSY = 0.005  # seconds of processor time between two signs of life; an idle process uses far less
START = 300.0  # seconds until all workers have started; loading torch takes long on a busy machine
_STUCK = 5.0  # number of deadlines during which all workers only wait
_STOPPED = (
    5.0  # seconds between two checks; after a longer gap, this process itself was paused, perhaps with all others
)


class Pulse:
    """A worker's signs of life, which the training thread records and another thread sends.

    Processor time that the process used is also a sign of life. On an overloaded machine, an iteration may take longer
    than any deadline, although the worker is only slow and not lost.
    """

    def __init__(self, processor_time: Callable[[], float] = time.process_time) -> None:
        self._beat, self._waiting = threading.Event(), False
        self._processor_time, self._used = processor_time, processor_time()

    def beat(self) -> None:
        """Note that the worker makes progress."""
        self._beat.set()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Note that the worker is alive while it waits for others."""
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False
            self.beat()

    def take(self) -> Sign | None:
        """Return the sign of life since the last call, or `None` if there was none."""
        before, self._used = self._used, self._processor_time()
        if self._beat.is_set():
            self._beat.clear()
            return Sign.WORKING
        if self._waiting:
            return Sign.WAITING
        return Sign.WORKING if self._used - before > _BUSY else None


class SupervisorLease:
    """A worker's permission to continue for some seconds, which each answer of the supervisor renews.

    It counts from the time when the worker asked. So the worker ends before the supervisor, which has the same limit,
    can start another one in its place. If this process was paused, it asks once more first.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._asked = deque[float]()
        self._changing = threading.Lock()
        self._renewed = self._looked = time.monotonic()

    def note_request(self) -> None:
        """Note that the worker asks now."""
        with self._changing:
            self._asked.append(time.monotonic())

    def note_answer(self) -> None:
        """Note that the supervisor has answered the oldest open request."""
        with self._changing:
            if self._asked:
                self._renewed = max(self._renewed, self._asked.popleft())

    def has_ended(self) -> bool:
        """Return whether the worker must end. A pause of this process itself doesn't count."""
        with self._changing:
            now = time.monotonic()
            if now - self._looked > _STOPPED:
                self._renewed = now
            self._looked = now
            return now - self._renewed > self.seconds


class WatchedCommunicator:
    """A communicator whose worker counts as alive while it waits for others."""

    def __init__(self, communicator: Communicator, pulse: Pulse) -> None:
        self._communicator, self._pulse = communicator, pulse
        self.rank, self.size, self.traffic = communicator.rank, communicator.size, communicator.traffic

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Handle:
        """Replace every worker's buffer with the weighted mean of all buffers."""
        return _WatchedHandle(self._communicator.mean(buffer, weight, lane=lane), self._pulse)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Handle:
        """Replace the root's buffer with the weighted mean."""
        return _WatchedHandle(self._communicator.reduce(buffer, weight, root=root, lane=lane), self._pulse)

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Handle:
        """Replace every worker's buffer with the root's."""
        return _WatchedHandle(self._communicator.broadcast(buffer, root=root, lane=lane), self._pulse)

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Handle:
        """Send a buffer to another worker."""
        return _WatchedHandle(self._communicator.send(buffer, to=to, lane=lane), self._pulse)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Handle:
        """Fill a buffer with the values that another worker sends."""
        return _WatchedHandle(self._communicator.receive(buffer, source=source, lane=lane), self._pulse)

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Return the numbers of all workers, by rank."""
        with self._pulse.waiting():
            return self._communicator.gather(values)

    def barrier(self) -> None:
        """Wait until all other workers have called this too."""
        with self._pulse.waiting():
            self._communicator.barrier()

    def shared_variable(self, buffer: Tensor) -> SharedVariable:
        """Return a variable that all workers share."""
        with self._pulse.waiting():
            return _WatchedVariable(self._communicator.shared_variable(buffer), self._pulse)

    def close(self) -> None:
        """Close the communicator."""
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
    worked: float  # the time of the last heartbeat that didn't report waiting
    ending: Ending | None = None
    reason: str = ""
    takes_part: bool = False  # otherwise it waits for the others


@dataclass
class Health:
    """The health of `size` workers, each of which must send a heartbeat within the deadline."""

    size: int
    deadline: float
    hosts: Mapping[int, str] = field(default_factory=dict)  # by rank, as far as the launcher knows them
    workers: dict[int, _WorkerHealth] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._looked = self._since

    def welcome(self, rank: int, host: str) -> None:
        """Note that a worker has started."""
        now = time.monotonic()
        self.workers[rank] = _WorkerHealth(host, now, now)

    def note_sign(self, rank: int, sign: Sign) -> None:
        """Note that a worker is alive."""
        worker, now = self.workers[rank], time.monotonic()
        worker.alive = now
        if sign is Sign.WORKING:
            worker.worked = now

    def note_end(self, rank: int, ending: Ending, reason: str = "") -> None:
        """Note that a worker has ended. Only the first report counts, so later observations don't replace the worker's
        own report."""
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
        """Return whether a worker finished successfully."""
        return rank in self.workers and self.workers[rank].ending is Ending.DONE

    def waiting(self) -> set[int]:
        """Return the workers that have started but don't take part."""
        return {rank for rank, worker in self.workers.items() if worker.ending is None and not worker.takes_part}

    def taking_part(self) -> set[int]:
        """Return the workers that take part and haven't ended."""
        return {rank for rank, worker in self.workers.items() if worker.ending is None and worker.takes_part}

    def lost(self) -> set[int]:
        """Return the workers that failed, or that no longer give a sign of life."""
        bad = {rank for rank, worker in self.workers.items() if worker.ending not in (None, Ending.DONE)}
        return bad | {*self.hung()}

    def running(self, rank: int) -> bool:
        """Return whether a worker has started and hasn't ended."""
        return rank in self.workers and self.workers[rank].ending is None

    def name(self, rank: int) -> str:
        """Return the name of a worker for messages. The name includes the host if the workers run on several hosts, and
        if it is known, from the launcher or because the worker has connected."""
        known = {**self.hosts} | {number: worker.host for number, worker in self.workers.items() if worker.host}
        hosts, host = {*known.values()}, known.get(rank)
        return f"worker {rank} on {host}" if host and len(hosts) > 1 else f"worker {rank}"

    def blame(self) -> str:
        """Return which workers failed and why, limited to the most telling kind of failure. Returns an empty string if
        none failed."""
        bad = {rank: each for rank, each in self.workers.items() if each.ending not in (None, Ending.DONE)}
        worst = min((worker.ending or Ending.CRASHED for worker in bad.values()), default=None)
        return "; ".join(f"{self.name(rank)} {each.reason}" for rank, each in bad.items() if each.ending is worst)

    def hung(self) -> list[int]:
        """Return the running workers that sent no heartbeat within the deadline."""
        now = self._time_awake()
        return [
            rank
            for rank, worker in self.workers.items()
            if worker.ending is None and now - max(worker.alive, self._since) > self.deadline
        ]

    def standstill(self) -> str:
        """Return why the workers make no progress although none of them is hung. Returns an empty string if they make
        progress."""
        now = self._time_awake()
        if len(self.workers) < self.size and now - self._since > START:
            missing = [self.name(rank) for rank in range(self.size) if rank not in self.workers]
            return (
                f"only {len(self.workers)} of {self.size} workers started within {START:g} s; look for the reason in "
                f"the output of {', '.join(missing)}"
            )
        worked = max((self.workers[rank].worked for rank in self.taking_part()), default=now)
        if now - max(worked, self._since) > _STUCK * self.deadline:
            return f"all workers have been waiting for each other for {_STUCK * self.deadline:g} s"
        return ""

    def _time_awake(self) -> float:
        """Return the time. After a pause of this process itself, silence before the pause no longer counts."""
        now = time.monotonic()
        if now - self._looked > _STOPPED:
            self._since = now
        self._looked = now
        return now
