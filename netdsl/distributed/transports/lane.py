"""Lanes: operations that a thread does one after the other, while the worker computes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from netdsl.distributed.interruption import Interruption
from netdsl.errors import DistributedError, PeerLostError

LANES = 4  # of every communicator
_GRACE = 5.0  # seconds for a thread to end


class Operation:
    """One operation of a lane; the handle that a caller gets."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._over = threading.Event()
        self._problem: Exception | None = None

    def run(self, problem: Exception | None) -> Exception | None:
        """Do the work, unless something went wrong before; return what went wrong."""
        try:
            if problem is None:
                self._work()
        except Exception as error:  # whatever it is, who waits for the operation raises it
            problem = error
        self.end(problem)
        return problem

    def end(self, problem: Exception | None) -> None:
        """Let whoever waits go on; only the first call counts."""
        if not self._over.is_set():
            self._problem = problem
            self._over.set()

    def done(self) -> bool:
        """Whether it is over; never waits."""
        return self._over.is_set()

    def wait(self) -> None:
        """Wait until it is over, and raise what went wrong."""
        self._over.wait()
        if self._problem is not None:
            raise self._problem


class Lane:
    """A thread with a queue. Once an operation has failed nobody knows where the others are, so all later ones fail.

    An interruption ends the waiting of those who wait for its operations, also where the thread itself is stuck.
    """

    def __init__(self, name: str, interruption: Interruption | None = None) -> None:
        self._queue: SimpleQueue[Operation | None] = SimpleQueue()
        self._pending: set[Operation] = set()
        self._changing = threading.Lock()
        self._lost: PeerLostError | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        if interruption is not None:
            interruption.listen(self._interrupt)

    def add(self, work: Callable[[], object]) -> Operation:
        """Do this when everything before it is done."""
        operation = Operation(work)
        with self._changing:
            self._pending.add(operation)
            if self._lost is not None:
                operation.end(self._lost)
        self._queue.put(operation)
        return operation

    def do(self, work: Callable[[], object]) -> None:
        """Do this when everything before it is done, and wait for it."""
        self.add(work).wait()

    def close(self) -> None:
        """End the thread when everything is done, and wait for that unless it has something left to do.

        A thread that is still at it when Python ends can end the process with SIGABRT.
        """
        self._queue.put(None)
        with self._changing:
            is_idle = self._lost is None and all(operation.done() for operation in self._pending)
        if is_idle:
            self._thread.join(_GRACE)

    def _interrupt(self, problem: PeerLostError) -> None:
        with self._changing:
            self._lost = problem
            for operation in self._pending:
                operation.end(problem)

    def _run(self) -> None:
        problem: Exception | None = None
        while operation := self._queue.get():
            problem = operation.run(problem or self._lost)
            with self._changing:
                self._pending.discard(operation)


def check_lane(number: int) -> None:
    """Raise a DistributedError if there is no such lane."""
    if not 0 <= number < LANES:
        raise DistributedError(f"there is no lane {number}; they are 0 to {LANES - 1}")
