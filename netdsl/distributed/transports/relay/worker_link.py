"""A worker's connection to the driver, by which it exchanges one buffer after the other."""

from __future__ import annotations

import socket
import time
from contextlib import suppress

from netdsl.distributed.traffic import Traffic
from netdsl.distributed.transports.lane import Lane
from netdsl.distributed.transports.relay.connection import Bytes, Connection
from netdsl.distributed.transports.relay.request import RelayRequest
from netdsl.errors import DistributedError, PeerLostError


class WorkerLink:
    """It sends in a thread of its own, since the driver gives back one piece while it is sent the next."""

    def __init__(self, connection: socket.socket, lane: int, timeout: float) -> None:
        self._wire, self._sender = Connection(connection, "the driver", timeout), Lane(lane)
        self._problem: DistributedError | None = None

    def be_welcome(self) -> None:
        """Wait until the driver has taken the connection in."""
        self._wire.be_assured()

    def exchange(self, request: RelayRequest, sent: Bytes, taken: Bytes, doing: str) -> Traffic:
        """Ask the driver for something, with what it needs for that, and take what comes of it."""
        if self._problem is not None:
            raise self._problem
        begun = time.monotonic()
        sending = self._sender.add(lambda: self._send(request, sent))
        try:
            self._wire.be_assured()
            granted = time.monotonic()
            self._wire.take(taken)
            self._wire.be_assured()
        except DistributedError as problem:
            self._problem = PeerLostError(f"{doing}: {problem}") if isinstance(problem, PeerLostError) else problem
            self._wire.end()
            raise self._problem from None
        finally:
            with suppress(PeerLostError):  # then what is received has ended too
                sending.wait()
        return Traffic(granted - begun, time.monotonic() - granted, sent.size + taken.size)

    def end(self) -> None:
        """Let whatever is under way fail."""
        self._wire.end()

    def close(self) -> None:
        """Let go of it, when nothing is under way."""
        self._sender.close()
        self._wire.close()

    def _send(self, request: RelayRequest, sent: Bytes) -> None:
        self._wire.send(request.packed())
        self._wire.send_pieces(sent)
