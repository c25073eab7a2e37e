"""The entrance of a control server: one thread that accepts connections and waits for their greetings."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from selectors import EVENT_READ, DefaultSelector

from netdsl.distributed.control.doors import Door
from netdsl.distributed.control.reception import Reception

_AT_ONCE = 64  # connections that are accepted between two pauses
_PAUSE = 0.002  # seconds after a refusal, at least
_SHARE = 0.05  # of a processor's time, at most, while connections are refused
_SCARCITY = 0.05  # seconds until a server without free descriptors tries again


@dataclass
class _Waiting:
    peer: str
    deadline: float
    received: bytes = b""


class Entrance:
    """Lets in each connection that sends the door's greeting within `patience` seconds.

    `let_in` gets the connection, its peer, and its deadline. Other connections are closed when they have sent as many
    bytes. They cost no thread, no handshake and only a small share of a processor, because the entrance shares its
    process with a worker.
    """

    def __init__(
        self,
        door: Door,
        reception: Reception,
        let_in: Callable[[socket.socket, str, float], object],
        patience: float,
    ) -> None:
        self._door, self._reception, self._let_in, self._patience = door, reception, let_in, patience
        self._greeting = door.greeting.encode()
        self._waiting = dict[socket.socket, _Waiting]()  # the oldest first
        self._has_refused = False
        self._end, self._ended = socket.socketpair()
        self._selector = DefaultSelector()
        self._selector.register(self._ended, EVENT_READ)
        self._selector.register(door.listener, EVENT_READ)
        door.listener.setblocking(False)
        self._thread = threading.Thread(target=self._work, name="control server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, and all connections that wait."""
        self._end.close()
        self._thread.join()

    def _work(self) -> None:
        with self._selector, self._ended:
            while self._ended not in (ready := self._ready()):
                self._has_refused, begun = False, time.thread_time()
                for each in ready:
                    if each is self._door.listener:
                        self._accept()
                    else:
                        self._look_at(each)
                self._end_late()
                if self._has_refused:
                    time.sleep(max(_PAUSE, (time.thread_time() - begun) * (1 / _SHARE - 1)))
            for connection in self._waiting:
                connection.close()

    def _ready(self) -> list[socket.socket]:
        oldest = next(iter(self._waiting.values()), None)
        seconds = None if oldest is None else max(0.0, oldest.deadline - time.monotonic())
        return [key.fileobj for key, _ in self._selector.select(seconds) if isinstance(key.fileobj, socket.socket)]

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, address = self._door.listener.accept()
            except BlockingIOError:
                return
            except OSError:  # descriptors are scarce for a moment
                time.sleep(_SCARCITY)
                return
            peer = self._door.peer_of(connection, address)
            if peer is None:
                connection.close()
                continue
            connection.setblocking(False)
            self._waiting[connection] = _Waiting(peer, time.monotonic() + self._patience)
            self._reception.enter(connection, peer)
            self._selector.register(connection, EVENT_READ)
            self._look_at(connection)

    def _look_at(self, connection: socket.socket) -> None:
        """Read what a connection has sent. If that is a whole greeting, let it in; if it is anything else, close it."""
        waiting = self._waiting[connection]
        missing = len(self._greeting) - len(waiting.received)
        try:
            received = connection.recv(missing) if missing else b""
        except BlockingIOError:
            return
        except OSError:
            received = b""
        waiting.received += received
        if 0 < len(received) < missing:
            return
        if self._dismiss(connection) and secrets.compare_digest(waiting.received, self._greeting):
            self._let_in(connection, waiting.peer, waiting.deadline)
        else:
            self._has_refused = True
            connection.close()

    def _end_late(self) -> None:
        """Close the connections whose deadline is over."""
        now = time.monotonic()
        for connection in [*takewhile(lambda each: self._waiting[each].deadline <= now, self._waiting)]:
            self._dismiss(connection)
            connection.close()

    def _dismiss(self, connection: socket.socket) -> bool:
        """Stop waiting for a connection. Returns whether it hasn't given way to another one."""
        self._selector.unregister(connection)
        return self._reception.leave(connection, self._waiting.pop(connection).peer)
