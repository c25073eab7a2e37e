"""Waiting for other processes: awake for a moment, then asleep, until they are there or the wait is interrupted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from netdsl.distributed.interruption import Interruption
from netdsl.errors import PeerLostError

_AWAKE = 0.0003  # seconds; what is longer than that goes to sleep
_NAPS = (0.00005, 0.001)  # seconds: the first, the longest
_yield_processor = getattr(os, "sched_yield", lambda: time.sleep(0))

Missing = Callable[[], list[int]]  # the ranks of the workers that aren't there yet


def wait_until_none(missing: Missing, interruption: Interruption, doing: str) -> float:
    """Wait until no worker is missing, and return the seconds that took."""
    if not missing():
        return 0.0
    begun, nap = time.monotonic(), _NAPS[0]
    while ranks := missing():
        if interruption.reason is not None:
            raise PeerLostError(f"{doing}: {interruption.reason} (it waited for {_names(ranks)})")
        if time.monotonic() - begun < _AWAKE:
            _yield_processor()
        else:
            time.sleep(nap)
            nap = min(nap * 1.3, _NAPS[1])
    return time.monotonic() - begun


def _names(ranks: list[int]) -> str:
    return f"worker{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
