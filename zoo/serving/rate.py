"""The limit on how often a client asks."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_CLIENTS = 4096  # that are remembered; those that asked longest ago are forgotten


class RateLimit:
    """So many requests a second for each client, of which a second's may come at once."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, max(rate, 1.0), clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests that are left, and when

    def wait_of(self, client: str) -> float:
        """The seconds until a client may ask; if it may now, 0, and the request counts."""
        if not self._rate:
            return 0.0
        now = self._clock()
        left, then = self._clients.pop(client, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        allowed = left >= 1
        self._clients[client] = left - allowed, now
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate
