"""The driver's port: workers tell here what happens, and their lanes to a star begin here."""

from __future__ import annotations

import json
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Self

from netdsl.errors import DistributedError

WELCOME = b"welcome\n"
HELLO = 10.0  # seconds for whoever connects to say who it is
_HELLO_BYTES = 4096
_LONGEST = 1 << 24  # bytes of a line; a record is far below

Message = dict[str, Any]
Happened = tuple[int, Message | None]  # what a worker told; None when its connection has ended
Adopt = Callable[[socket.socket, int, int], object]  # takes over a connection, with its rank and lane

_NONSENSE = (OSError, ValueError, TypeError, AttributeError, RecursionError, DistributedError)  # and those who vanish


class ControlServer:
    """Lets in whoever has the token, as one of `size` workers. Leaving it ends all connections."""

    def __init__(self, host: str, size: int, port: int = 0, adopt: Adopt | None = None) -> None:
        self.token = secrets.token_hex(16)
        self._size, self._adopt = size, adopt
        self._happened: SimpleQueue[Happened] = SimpleQueue()
        self._connections: dict[int, socket.socket] = {}
        self._seen: set[int] = set()
        self._changing, self._left = threading.Lock(), False
        try:
            self._listener = socket.create_server((host, port), backlog=64)
        except OSError as problem:
            raise unheard(host, port, problem) from None
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="hub", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._changing:
            self._left = True
            for connection in self._connections.values():
                _end(connection)

    def next(self, patience: float) -> Happened | None:
        """What happens within so many seconds, if anything does."""
        try:
            return self._happened.get(timeout=patience)
        except Empty:
            return None

    def send(self, message: Mapping[str, Any]) -> None:
        """Tell all who are here."""
        line = f"{json.dumps(message)}\n".encode()
        with self._changing:
            for connection in self._connections.values():
                with suppress(OSError):  # if it has ended, that is noticed elsewhere
                    connection.sendall(line)

    def _accept(self) -> None:
        with suppress(OSError):  # the hub was left
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), name="hub", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        """Let in a worker or one of its lanes; whoever says what nobody understands is left outside."""
        with suppress(*_NONSENSE):
            hello = self._hello(connection)
            if hello.lane is None:
                self._listen_to(connection, hello)
            elif self._adopt is not None:
                connection.sendall(WELCOME)
                self._adopt(connection, hello.rank, hello.lane)
                return
        connection.close()

    def _hello(self, connection: socket.socket) -> _Hello:
        """Who it is. What follows the line is left in the connection."""
        connection.settimeout(HELLO)
        with connection.makefile("rb", buffering=0) as lines:
            hello = _Hello(**json.loads(lines.readline(_HELLO_BYTES)))
        connection.settimeout(None)
        if not secrets.compare_digest(hello.token.encode(), self.token.encode()) or hello.rank not in range(self._size):
            raise ValueError("a stranger")
        return hello

    def _listen_to(self, connection: socket.socket, hello: _Hello) -> None:
        """Read what a worker tells, until it has no more to say."""
        rank = int(hello.rank)
        with self._changing:
            if self._left or rank in self._seen:  # a task that Spark began once more would be a second replica
                return
            connection.sendall(WELCOME)
            self._seen.add(rank)
            self._connections[rank] = connection
        self._happened.put((rank, {"host": str(hello.host)}))
        with suppress(*_NONSENSE), connection.makefile("rb") as lines:
            while line := lines.readline(_LONGEST):
                self._happened.put((rank, dict(json.loads(line))))
        with self._changing:
            del self._connections[rank]
        self._happened.put((rank, None))


@dataclass(frozen=True)
class _Hello:
    token: str
    rank: int
    host: str = ""
    lane: int | None = None


def unheard(host: str, port: int, problem: Exception) -> DistributedError:
    """The driver's address isn't its own, or a port is taken."""
    where, what = (f"{host}:{port}", "spark.netdsl.port to a free one") if port else (host, "spark.driver.host")
    return DistributedError(f"the driver can't listen at {where}: {problem}; set {what}")


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
