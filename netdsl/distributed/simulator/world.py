"""Workers that take turns: always the one goes on whose clock is furthest behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch

from netdsl.errors import DistributedError, PeerLostError

Result = TypeVar("Result")
Pace = Callable[[int, int], float]  # seconds of an iteration, by rank and number


def no_time(rank: int, iteration: int) -> float:
    """Computing costs nothing."""
    return 0.0


@dataclass
class Awaited:
    """Something that is over at a time which isn't known before all who take part have come."""

    what: str
    finish: float | None = None


class World:
    """`size` workers in threads, of which one runs at a time, so that everything comes out the same each time.

    Each has its own random numbers.
    """

    def __init__(self, size: int, pace: Pace = no_time) -> None:
        self.size, self.pace = size, pace
        self.now = [0.0] * size
        self._lock = threading.Lock()
        self._called = [threading.Condition(self._lock) for _ in range(size)]  # one each, so that only one wakes
        self._turn = 0
        self._blocked: dict[int, Awaited | None] = dict.fromkeys(range(size))
        self._ended: set[int] = set()
        self._problem: BaseException | None = None
        self._random = [torch.get_rng_state()] * size

    def run(self, work: Callable[[int], Result]) -> list[Result]:
        """What `work` gives for each rank."""
        found: dict[int, Result] = {}
        threads = [
            threading.Thread(target=self._work, args=(work, rank, found), name=f"worker {rank}", daemon=True)
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
        return [found[rank] for rank in range(self.size)]

    def _work(self, work: Callable[[int], Result], rank: int, found: dict[int, Result]) -> None:
        try:
            self._wait_for_turn(rank)
            found[rank] = work(rank)
        except _OverError:
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
            raise _OverError
        torch.set_rng_state(self._random[rank])

    def _pass_on(self, rank: int) -> None:
        """Let the one go on that is furthest behind."""
        self._random[rank] = torch.get_rng_state()
        able = [each for each in range(self.size) if each not in self._ended and self._blocked[each] is None]
        if able:
            self._turn = min(able, key=lambda each: (self.now[each], each))
        elif len(self._ended) < self.size and self._problem is None:
            self._problem = self._stuck()
        for each in [self._turn] if self._problem is None else range(self.size):
            self._called[each].notify()

    def _stuck(self) -> DistributedError:
        waiting = {each: wanted.what for each, wanted in self._blocked.items() if wanted is not None}
        if self._ended:
            return PeerLostError(f"workers {sorted(self._ended)} ended while others wait for them: {waiting}")
        return DistributedError(f"the workers wait for different things: {waiting}")

    def spend(self, rank: int, seconds: float) -> None:
        """A worker is busy for so long; those go on that are further behind."""
        self.now[rank] += seconds
        with self._lock:
            self._pass_on(rank)
        self._wait_for_turn(rank)

    def wait(self, rank: int, awaited: Awaited) -> None:
        """Go on when it is over."""
        if awaited.finish is None:
            with self._lock:
                self._blocked[rank] = awaited
                self._pass_on(rank)
            self._wait_for_turn(rank)
        assert awaited.finish is not None
        self.spend(rank, max(0.0, awaited.finish - self.now[rank]))

    def over(self, awaited: Awaited, finish: float) -> None:
        """It is known when it is over; whoever waits for it may go on then."""
        awaited.finish = finish
        for rank, wanted in self._blocked.items():
            if wanted is awaited:
                self.now[rank] = max(self.now[rank], finish)
                self._blocked[rank] = None


class _OverError(Exception):
    """Another worker had a problem."""
