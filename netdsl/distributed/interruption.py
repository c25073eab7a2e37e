"""A way to end what waits for other workers, from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

from netdsl.errors import PeerLostError


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
