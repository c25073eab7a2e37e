"""Workers that are threads, whose connections to a star are real ones."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from netdsl.distributed.star.communicator import StarCommunicator
from netdsl.distributed.star.star import Star

TIMEOUT = 30.0


class Midst:
    """A star behind a port."""

    def __init__(self, size: int, timeout: float = TIMEOUT, room: int = 0) -> None:
        self.star, self.size, self.timeout, self._room = Star(size, timeout), size, timeout, room
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._narrow(self._listener)
        self._one = threading.Lock()

    def connection(self) -> tuple[socket.socket, socket.socket]:
        """Both ends of one."""
        with self._one:
            connection = socket.socket()
            self._narrow(connection)
            connection.connect(self._listener.getsockname())
            return connection, self._listener.accept()[0]

    def connect(self, rank: int) -> Callable[[int], socket.socket]:
        """How a worker comes by its connections."""

        def connected(lane: int) -> socket.socket:
            own, other = self.connection()
            self.star.adopt(other, rank, lane)
            return own

        return connected

    def worker(self, rank: int) -> StarCommunicator:
        return StarCommunicator(self.connect(rank), rank, self.size, self.timeout)

    def close(self) -> None:
        self.star.close()
        self._listener.close()

    def _narrow(self, connection: socket.socket) -> None:
        """With so little room the system takes no more than a few thousand bytes at once."""
        if self._room:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._room)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._room)


Task = Callable[[StarCommunicator], Any]
Together = Callable[..., list[Any]]


@pytest.fixture
def everybody() -> Together:
    """Do something as every worker, and give what each returns."""

    def together(size: int, task: Task, **settings: Any) -> list[Any]:
        with closing(Midst(size, **settings)) as midst:

            def one(rank: int) -> Any:
                with closing(midst.worker(rank)) as communicator:
                    found = task(communicator)
                    communicator.barrier()
                    return found

            with ThreadPoolExecutor(size) as pool:
                return list(pool.map(one, range(size)))

    return together
