"""A worker's connection to the driver, by which it exchanges one buffer after the other."""

from __future__ import annotations

import socket
import time
from contextlib import suppress

from netdsl.distributed.communicator import Traffic
from netdsl.distributed.transports.lane import Lane
from netdsl.distributed.transports.relay.connection import Bytes, Connection
from netdsl.distributed.transports.relay.request import RelayRequest
from netdsl.errors import DistributedError, PeerLostError


class WorkerLink:
    """It sends in a thread of its own, since the driver gives back one piece while it is sent the next."""

    def __init__(self, endpoint: socket.socket, lane: int, timeout: float) -> None:
        self._connection, self._sender = Connection(endpoint, "the driver", timeout), Lane(f"sender of lane {lane}")
        self._problem: DistributedError | None = None

    def await_welcome(self) -> None:
        """Wait until the driver has taken the connection in."""
        self._connection.await_assurance()

    def exchange(self, request: RelayRequest, sent: Bytes, taken: Bytes, doing: str, traffic: Traffic) -> None:
        """Ask the driver for something, with the values that it needs, and take what comes back."""
        if self._problem is not None:
            raise self._problem
        begun = time.monotonic()
        sending = self._sender.add(lambda: self._send(request, sent))
        try:
            self._connection.await_assurance()
            granted = time.monotonic()
            self._connection.take(taken)
            self._connection.await_assurance()
        except DistributedError as problem:
            self._problem = PeerLostError(f"{doing}: {problem}") if isinstance(problem, PeerLostError) else problem
            self._connection.end()
            raise self._problem from None
        finally:
            with suppress(PeerLostError):  # then what is received has ended too
                sending.wait()
        traffic.add(waited=granted - begun, moved=time.monotonic() - granted, count=sent.size + taken.size)

    def end(self) -> None:
        """Let everything that is under way fail."""
        self._connection.end()

    def close(self) -> None:
        """Let go of the connection, when nothing is under way."""
        self._sender.close()
        self._connection.close()

    def _send(self, request: RelayRequest, sent: Bytes) -> None:
        self._connection.send(request.packed())
        self._connection.send_pieces(sent)
