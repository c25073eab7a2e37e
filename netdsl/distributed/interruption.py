"""Interrupts waiting for other workers, from another thread. Also contains the waiting that can be interrupted."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from netdsl.errors import PeerLostError

_AWAKE = 0.0003  # seconds of waiting, after which a thread sleeps between checks
_NAPS = (0.00005, 0.001)  # seconds: the first nap, the longest nap
_yield_processor = getattr(os, "sched_yield", lambda: time.sleep(0))
Missing = Callable[[], list[int]]  # the ranks of the workers that haven't arrived yet


class Interruption:
    """An event that happens at most once, with a reason. A transport then raises it in every operation that waits."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._changing = threading.Lock()
        self._listeners: list[Callable[[PeerLostError], object]] = []

    def happen(self, reason: str) -> None:
        """Notify all present and future listeners. Later reasons are ignored."""
        with self._changing:
            if self.reason is not None:
                return
            self.reason = reason
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener(PeerLostError(reason))

    def listen(self, listener: Callable[[PeerLostError], object]) -> None:
        """Call a function when the interruption happens, or at once if it has happened."""
        with self._changing:
            if self.reason is None:
                self._listeners.append(listener)
                return
        listener(PeerLostError(self.reason))

    def check(self) -> None:
        """Raise a `PeerLostError` if the interruption has happened."""
        if self.reason is not None:
            raise PeerLostError(self.reason)


def wait_until_none(missing: Missing, interruption: Interruption, doing: str) -> float:
    """Wait until no worker is missing. Returns the seconds spent waiting."""
    if not missing():
        return 0.0
    begun, nap = time.monotonic(), _NAPS[0]
    while ranks := missing():
        if interruption.reason is not None:
            raise PeerLostError(f"{doing}: {interruption.reason} (while waiting for {_workers_text(ranks)})")
        if time.monotonic() - begun < _AWAKE:
            _yield_processor()
        else:
            time.sleep(nap)
            nap = min(nap * 1.3, _NAPS[1])
    return time.monotonic() - begun


def _workers_text(ranks: list[int]) -> str:
    return f"worker{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
