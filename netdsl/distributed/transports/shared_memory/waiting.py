"""Waiting for other processes: awake for a moment, then asleep, until they are there or lost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from netdsl.distributed.transports.shared_memory.memory import SharedBlock, fence
from netdsl.errors import PeerLostError

START = 120.0  # seconds that a process may take until its first sign of life
_AWAKE = 0.0003  # seconds; what is longer than that goes to sleep
_NAPS = (0.00005, 0.001)  # seconds: the first, the longest
_STOPPED = 1.0  # seconds between two looks: not the others were stopped, but this process
_pass_on = getattr(os, "sched_yield", lambda: time.sleep(0))


class Patience:
    """A worker's way to wait, during which it is alive itself."""

    def __init__(self, memory: SharedBlock, rank: int, deadline: float) -> None:
        self.memory, self.rank, self.deadline = memory, rank, deadline

    def until(self, missing: Callable[[], list[int]], doing: str) -> float:
        """Wait until no worker is missing, and give the seconds that took."""
        if not missing():
            fence()
            return 0.0
        begun = since = looked = time.monotonic()
        nap = _NAPS[0]
        while absent := missing():
            now = time.monotonic()
            since = now if now - looked > _STOPPED else since
            looked = now
            self.memory.give_sign(self.rank)
            self._check(absent, since, now, doing)
            if now - begun < _AWAKE:
                _pass_on()
            else:
                time.sleep(nap)
                nap = min(nap * 1.3, _NAPS[1])
        fence()
        return time.monotonic() - begun

    def _check(self, absent: list[int], since: float, now: float, doing: str) -> None:
        if self.memory.aborted:
            raise PeerLostError(f"{doing}: given up while waiting for {_names(absent)}, since a worker was lost")
        lost = [rank for rank in absent if self._is_lost(rank, since, now)]
        if lost:
            raise PeerLostError(f"{doing}: no sign of life from {_names(lost)} for {self.deadline:g} s")

    def _is_lost(self, rank: int, since: float, now: float) -> bool:
        sign = self.memory.sign(rank)
        allowed = self.deadline if sign else max(self.deadline, START)
        return now - max(sign, since) > allowed


def _names(ranks: list[int]) -> str:
    return f"worker{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
