"""A worker's connections to the driver: lines of JSON, events out and wishes in; and others for its lanes."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

from netdsl.distributed.supervision.control_server import WELCOME
from netdsl.distributed.supervision.heartbeat import Signs
from netdsl.errors import PeerLostError
from netdsl.spark.workers.worker_spec import SparkWorkerSpec

PATIENCE = 30.0  # seconds for the driver to answer
_PULSE = 1.0  # seconds between two signs of life
_KEEP_ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}  # a lost machine is noticed in 40 s


class ControlClient:
    """Where it ends without having been closed the driver is gone, however that came, and the worker goes too."""

    def __init__(self, place: SparkWorkerSpec, rank: int) -> None:
        self.signs = Signs()
        self._telling, self._stop, self._closed = threading.Lock(), threading.Event(), threading.Event()
        self._socket = connected(place, rank)
        self.address: str = self._socket.getsockname()[0]

    def __enter__(self) -> Self:
        for work in (self._listen, self._pulse):
            threading.Thread(target=work, name="channel", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave; the worker's end was told before."""
        self._closed.set()
        with suppress(OSError):  # the driver may have left first
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send the driver an event, as JSON can say it."""
        line = f"{json.dumps(message)}\n".encode()
        try:
            with self._telling:
                self._socket.sendall(line)
        except OSError as problem:
            raise PeerLostError(f"the driver is gone: {problem}") from None

    def wanted(self) -> bool:
        """Whether the worker shall stop when it has finished a round."""
        return self._stop.is_set()

    def _listen(self) -> None:
        with suppress(OSError), self._socket.makefile("rb") as lines:
            for line in lines:
                if json.loads(line).get("stop"):
                    self._stop.set()
        self._vanish()

    def _pulse(self) -> None:
        while not self._closed.wait(_PULSE):
            sign = self.signs.taken()
            if sign is not None:
                try:
                    self.tell({"sign": sign.value})
                except PeerLostError:
                    self._vanish()

    def _vanish(self) -> None:
        if not self._closed.is_set():
            os._exit(1)


def connected(place: SparkWorkerSpec, rank: int, lane: int | None = None) -> socket.socket:
    """A connection that the driver has let in, as this worker's or as one of its lanes."""
    hello = {"token": place.token, "rank": rank, "host": socket.gethostname(), "lane": lane}
    where = f"the driver at {place.host}:{place.hub}"
    try:
        connection = socket.create_connection((place.host, place.hub), PATIENCE)
        _keep_alive(connection)
        connection.sendall(f"{json.dumps(hello)}\n".encode())
        welcome = connection.recv(len(WELCOME), socket.MSG_WAITALL)
    except OSError as problem:
        raise PeerLostError(f"{where} can't be reached: {problem}") from None
    if welcome != WELCOME:
        connection.close()
        raise PeerLostError(f"{where} doesn't let worker {rank} in; it had one already, or waits for others")
    connection.settimeout(None)
    return connection


def _keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):  # not every system has all
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
