"""Bounds the connections that haven't shown the token yet, so that strangers can't keep workers out."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

PER_PEER = 64
IN_ALL = 256


class Reception:
    """The connections that haven't shown the token yet.

    A peer may have a limited number of them, and so may all peers together. Beyond a limit, the oldest connection of
    that peer is ended, or the oldest one of the peer that has the most.
    """

    def __init__(self, per_peer: int = PER_PEER, in_all: int = IN_ALL) -> None:
        self._per_peer, self._in_all = per_peer, in_all
        self._waiting: dict[str, dict[socket.socket, None]] = {}  # the connections of each peer, the oldest first
        self._changing = threading.Lock()

    def enter(self, connection: socket.socket, peer: str) -> None:
        """Let a connection wait, which may end an older one."""
        with self._changing:
            if len(self._waiting.get(peer, ())) >= self._per_peer:
                self._end_oldest(peer)
            elif sum(map(len, self._waiting.values())) >= self._in_all:
                self._end_oldest(max(self._waiting, key=lambda each: len(self._waiting[each])))
            self._waiting.setdefault(peer, {})[connection] = None

    def leave(self, connection: socket.socket, peer: str) -> bool:
        """End the wait of a connection. Returns whether it was still waiting, and wasn't ended for a newer one."""
        with self._changing:
            waited = connection in self._waiting.get(peer, ())
            self._forget(connection, peer)
            return waited

    def _end_oldest(self, peer: str) -> None:
        oldest = next(iter(self._waiting[peer]))
        self._forget(oldest, peer)
        with suppress(OSError):  # its peer may have left first
            oldest.shutdown(socket.SHUT_RDWR)

    def _forget(self, connection: socket.socket, peer: str) -> None:
        self._waiting.get(peer, {}).pop(connection, None)
        if peer in self._waiting and not self._waiting[peer]:
            del self._waiting[peer]
