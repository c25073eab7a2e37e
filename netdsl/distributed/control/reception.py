"""Bounds the connections that haven't shown the token yet, so that strangers can't keep workers out."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

PER_PEER = 64
IN_ALL = 256
FAILURES = 20  # connections of a peer without a token in a second, after which its next ones aren't heard


class Reception:
    """The connections that haven't shown the token yet.

    A peer may have a limited number of them, and so may all peers together. Beyond a limit, the oldest connection of
    that peer is ended, or the oldest one of the peer that has the most. A peer whose connections often fail isn't heard
    for the rest of the second, since a handshake costs much more time than a refusal.
    """

    def __init__(
        self, per_peer: int = PER_PEER, in_all: int = IN_ALL, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_peer, self._in_all, self._clock = per_peer, in_all, clock
        self._waiting: dict[str, dict[socket.socket, None]] = {}  # the connections of each peer, the oldest first
        self._failures, self._second = Counter[str](), 0  # by peer, in the current second
        self._changing = threading.Lock()

    def enter(self, connection: socket.socket, peer: str) -> bool:
        """Let a new connection wait, which may end an older one. Returns whether the connection is heard."""
        with self._changing:
            if self._recent_failures()[peer] >= FAILURES:
                return False
            if len(self._waiting.get(peer, ())) >= self._per_peer:
                self._end_oldest(peer)
            elif sum(map(len, self._waiting.values())) >= self._in_all:
                self._end_oldest(max(self._waiting, key=lambda each: len(self._waiting[each])))
            self._waiting.setdefault(peer, {})[connection] = None
            return True

    def leave(self, connection: socket.socket, peer: str, *, known: bool) -> bool:
        """Let a connection go on if its token is known. Returns whether it may, and wasn't ended for a newer one."""
        with self._changing:
            waited = connection in self._waiting.get(peer, ())
            self._forget(connection, peer)
            if not (known and waited):
                self._recent_failures()[peer] += 1
            return known and waited

    def _recent_failures(self) -> Counter[str]:
        second = int(self._clock())
        if second != self._second:
            self._failures.clear()
            self._second = second
        return self._failures

    def _end_oldest(self, peer: str) -> None:
        oldest = next(iter(self._waiting[peer]))
        self._forget(oldest, peer)
        with suppress(OSError):  # its peer may have left first
            oldest.shutdown(socket.SHUT_RDWR)

    def _forget(self, connection: socket.socket, peer: str) -> None:
        self._waiting.get(peer, {}).pop(connection, None)
        if peer in self._waiting and not self._waiting[peer]:
            del self._waiting[peer]
