"""The scheduler of simulated workers, which take turns. The worker whose clock is furthest behind runs next."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch

from netdsl.errors import DistributedError, PeerLostError

Result = TypeVar("Result")
Pace = Callable[[int, int], float]  # seconds of an iteration, by rank and number; infinite if the worker is lost in it


def no_time(rank: int, iteration: int) -> float:
    """Return 0, which makes a world in which computing takes no time."""
    return 0.0


@dataclass
class PendingEvent:
    """An event for which workers wait. Its time is unknown until all of its workers have joined it."""

    what: str
    finish: float | None = None


class World:
    """`size` workers in threads. Only one runs at a time, so results are repeatable.

    Each worker has its own random numbers.
    """

    def __init__(self, size: int, pace: Pace = no_time) -> None:
        self.size, self.pace = size, pace
        self.now = [0.0] * size
        self.lost: set[int] = set()
        self.on_loss: list[Callable[[int], object]] = []  # called with the rank of a lost worker
        self._lock = threading.Lock()
        self._called = [threading.Condition(self._lock) for _ in range(size)]  # by rank, so that only one thread wakes
        self._turn = 0
        self._blocked: dict[int, PendingEvent | None] = dict.fromkeys(range(size))
        self._ended: set[int] = set()
        self._problem: BaseException | None = None
        self._random = [torch.get_rng_state()] * size

    def run(self, work: Callable[[int], Result]) -> list[Result]:
        """Run `work` in every worker. Returns the results by rank, without those of lost workers."""
        results: dict[int, Result] = {}
        threads = [
            threading.Thread(target=self._run_worker, args=(work, rank, results), name=f"worker {rank}", daemon=True)
            for rank in range(self.size)
        ]
        outside = torch.get_rng_state()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        torch.set_rng_state(outside)
        if self._problem is not None:
            raise self._problem
        return [results[rank] for rank in sorted(results)]

    def _run_worker(self, work: Callable[[int], Result], rank: int, results: dict[int, Result]) -> None:
        try:
            self._wait_for_turn(rank)
            results[rank] = work(rank)
        except _AbandonedError:
            pass
        except BaseException as problem:
            self._problem = self._problem or problem
        finally:
            with self._lock:
                self._ended.add(rank)
                self._pass_on(rank)

    def _wait_for_turn(self, rank: int) -> None:
        with self._lock:
            self._called[rank].wait_for(lambda: self._turn == rank or self._problem is not None)
        if self._problem is not None:
            raise _AbandonedError
        torch.set_rng_state(self._random[rank])

    def _pass_on(self, rank: int) -> None:
        """End a worker's turn, and let the ready worker that is furthest behind run next."""
        self._random[rank] = torch.get_rng_state()
        ready = [other for other in range(self.size) if other not in self._ended and self._blocked[other] is None]
        if ready:
            self._turn = min(ready, key=lambda other: (self.now[other], other))
        elif len(self._ended) < self.size and self._problem is None:
            self._problem = self._deadlock()
        for other in [self._turn] if self._problem is None else range(self.size):
            self._called[other].notify()

    def _deadlock(self) -> DistributedError:
        waiting = {rank: event.what for rank, event in self._blocked.items() if event is not None}
        if self._ended:
            return PeerLostError(f"workers {sorted(self._ended)} ended while others were waiting for them: {waiting}")
        return DistributedError(f"the workers are waiting for different events: {waiting}; report this")

    def spend(self, rank: int, seconds: float) -> None:
        """Move a worker's clock forward, and let workers run that are behind it. An infinite time loses the worker."""
        if seconds == math.inf:
            self.lost.add(rank)
            for listener in self.on_loss:
                listener(rank)
            raise _AbandonedError
        self.now[rank] += seconds
        with self._lock:
            self._pass_on(rank)
        self._wait_for_turn(rank)

    def wait(self, rank: int, event: PendingEvent) -> None:
        """Wait until an event, in the thread of a worker."""
        if event.finish is None:
            with self._lock:
                self._blocked[rank] = event
                self._pass_on(rank)
            self._wait_for_turn(rank)
        assert event.finish is not None
        self.spend(rank, max(0.0, event.finish - self.now[rank]))

    def schedule(self, event: PendingEvent, finish: float) -> None:
        """Set the time of an event, at which the workers that wait for it continue."""
        event.finish = finish
        for rank, awaited in self._blocked.items():
            if awaited is event:
                self.now[rank] = max(self.now[rank], finish)
                self._blocked[rank] = None


class _AbandonedError(Exception):
    """The worker was lost, or the world was abandoned because of another worker's problem."""
