"""A lane: operations that a thread of its own does one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from netdsl.errors import DistributedError


class Operation:
    """One of them; the handle that a caller gets."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._over = threading.Event()
        self._problem: Exception | None = None

    def run(self, problem: Exception | None) -> Exception | None:
        """Do it, unless something went wrong before, and give what went wrong."""
        try:
            if problem is None:
                self._work()
        except Exception as found:  # whatever it is, who waits for it raises it
            problem = found
        self._problem = problem
        self._over.set()
        return problem

    def done(self) -> bool:
        """Whether it is over; never waits."""
        return self._over.is_set()

    def wait(self) -> None:
        """Wait until it is, and raise what went wrong."""
        self._over.wait()
        if self._problem is not None:
            raise self._problem


class Lane:
    """A thread with a queue. Once an operation has failed nobody knows where the others are, so all later ones fail."""

    def __init__(self, number: int) -> None:
        self._jobs: SimpleQueue[Operation | None] = SimpleQueue()
        threading.Thread(target=self._run, name=f"lane {number}", daemon=True).start()

    def add(self, work: Callable[[], None]) -> Operation:
        """Do this when all before it is done."""
        job = Operation(work)
        self._jobs.put(job)
        return job

    def close(self) -> None:
        """End it when all is done."""
        self._jobs.put(None)

    def _run(self) -> None:
        problem: Exception | None = None
        while job := self._jobs.get():
            problem = job.run(problem)


def check(lane: int, lanes: int) -> None:
    """Whether there is such a lane."""
    if not 0 <= lane < lanes:
        raise DistributedError(f"there is no lane {lane}; they are 0 to {lanes - 1}")
