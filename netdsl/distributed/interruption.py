"""An end to what waits for other workers, from another thread; and the waiting itself, which can be ended so."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from netdsl.errors import PeerLostError

_AWAKE = 0.0003  # seconds; what is longer than that goes to sleep
_NAPS = (0.00005, 0.001)  # seconds: the first, the longest
_yield_processor = getattr(os, "sched_yield", lambda: time.sleep(0))
Missing = Callable[[], list[int]]  # the ranks of the workers that aren't there yet


class Interruption:
    """Happens at most once, with a reason. A transport then raises in everything that waits."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._changing = threading.Lock()
        self._listeners: list[Callable[[PeerLostError], object]] = []

    def happen(self, reason: str) -> None:
        """Interrupt all who listen, now or later; a second reason is ignored."""
        with self._changing:
            if self.reason is not None:
                return
            self.reason = reason
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener(PeerLostError(reason))

    def listen(self, listener: Callable[[PeerLostError], object]) -> None:
        """Call a function when it happens, or at once if it has."""
        with self._changing:
            if self.reason is None:
                self._listeners.append(listener)
                return
        listener(PeerLostError(self.reason))

    def check(self) -> None:
        """Raise a PeerLostError if it has happened."""
        if self.reason is not None:
            raise PeerLostError(self.reason)


def wait_until_none(missing: Missing, interruption: Interruption, doing: str) -> float:
    """Wait until no worker is missing, and return the seconds that took."""
    if not missing():
        return 0.0
    begun, nap = time.monotonic(), _NAPS[0]
    while ranks := missing():
        if interruption.reason is not None:
            raise PeerLostError(f"{doing}: {interruption.reason} (it waited for {_workers_text(ranks)})")
        if time.monotonic() - begun < _AWAKE:
            _yield_processor()
        else:
            time.sleep(nap)
            nap = min(nap * 1.3, _NAPS[1])
    return time.monotonic() - begun


def _workers_text(ranks: list[int]) -> str:
    return f"worker{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
