"""A connection between a worker and the driver. Values are sent in pieces, each after the driver's confirmation."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netdsl.distributed.control.encryption import Endpoint
from netdsl.distributed.transports.lanes import LANES
from netdsl.errors import DistributedError, PeerLostError

NUMBERS = 4096  # the most numbers that one gather accepts
REAL = np.dtype(np.float64)
RAW = np.dtype(np.uint8)
# Types of values that can be added up.
SUMMED: tuple[np.dtype[Any], ...] = (np.dtype(np.float32), REAL, np.dtype(np.int64))
_KINDS = (*SUMMED, RAW)
_MOST = 1 << 40  # values; a larger count can't be a valid request
_FORM = struct.Struct("<BBxxiQd")
LENGTH = _FORM.size  # bytes of a request
CONTROL = LANES  # the number of the connection for requests without a lane
TIMEOUT = 60.0  # seconds for which other workers may keep a worker waiting
PIECE = 1 << 20  # bytes; small enough that pieces in transfer stay in the cache
_REPLY = struct.Struct("<BxH")  # the reply, and the length of the reason that follows
_REASON = 0xFFFF  # bytes of the longest reason
Bytes = NDArray[np.uint8]


class RelayOperation(IntEnum):
    """The operations that a worker can request."""

    MEAN = 1
    REDUCE = 2
    BROADCAST = 3
    SEND = 4
    RECEIVE = 5
    GATHER = 6
    VARIABLE = 7
    READ = 8
    WRITE = 9
    ADD = 10


CHANGES = (RelayOperation.READ, RelayOperation.WRITE, RelayOperation.ADD)  # operations on a variable
_TEXTS = {
    RelayOperation.MEAN: "mean of {0.count} {0.kind}",
    RelayOperation.REDUCE: "reduce to {0.other} of {0.count} {0.kind}",
    RelayOperation.BROADCAST: "broadcast of {0.count} bytes from {0.other}",
    RelayOperation.SEND: "send of {0.count} bytes to {0.other}",
    RelayOperation.RECEIVE: "receive of {0.count} bytes from {0.other}",
    RelayOperation.GATHER: "gather of {0.count} numbers",
    RelayOperation.VARIABLE: "variable of {0.count} {0.kind}",
    RelayOperation.READ: "read of the variable",
    RelayOperation.WRITE: "write of the variable",
    RelayOperation.ADD: "change of the variable",
}


@dataclass(frozen=True)
class RelayRequest:
    """An operation and its arguments. The values that the driver needs for it follow on the connection."""

    operation: RelayOperation
    kind: np.dtype[Any] = RAW
    count: int = 0  # number of values
    other: int = 0  # the rank of the root, receiver or sender, or the number of a variable
    value: float = 1.0  # the weight

    def __str__(self) -> str:
        return _TEXTS[self.operation].format(self)

    def packed(self) -> bytes:
        """Return the request's bytes for the network."""
        return _FORM.pack(self.operation, _KINDS.index(self.kind), self.other, self.count, self.value)

    @classmethod
    def of(cls, data: bytes) -> RelayRequest:
        """Decode a request. Raises a `DistributedError` if it is invalid."""
        operation, kind, other, count, value = _FORM.unpack(data)
        try:
            request = cls(RelayOperation(operation), _KINDS[kind], count, other, value)
        except (ValueError, IndexError):
            raise DistributedError("an unknown request; start all workers with the same version of netdsl") from None
        if count > (NUMBERS if request.operation is RelayOperation.GATHER else _MOST):
            raise DistributedError(
                f"a request for {count} values at once, which is too many; start all workers with the same version "
                "of netdsl"
            )
        return request

    @property
    def common(self) -> tuple[object, ...]:
        """The properties that all workers of an operation must share. Only the weight may differ."""
        return self.operation, self.kind, self.count, self.other


class Reply(IntEnum):
    """The driver's confirmation, or the kind of its refusal."""

    WELL = 0
    WRONG = 1  # the workers' requests are invalid or don't match
    LOST = 2  # a worker was lost


class Connection:
    """One end of a connection. `other` is the name of the other end."""

    def __init__(self, endpoint: Endpoint, other: str, timeout: float) -> None:
        self.socket, self._other, self._timeout = endpoint, other, timeout
        endpoint.settimeout(timeout)

    def send(self, data: bytes | memoryview) -> None:
        """Send all bytes."""
        try:
            self.socket.sendall(data)
        except OSError as problem:
            raise self._lost(problem) from None

    def send_pieces(self, data: Bytes) -> None:
        """Send all bytes in pieces. The timeout applies to each piece."""
        for piece in pieces(data):
            self.send(piece.data)

    def fill(self, data: Bytes, *, patient: bool = False) -> None:
        """Fill an array with received bytes. A patient receiver waits for the first byte without a limit."""
        got = 0
        while got < data.size:
            try:
                more = self.socket.recv_into(data[got:].data)
            except TimeoutError as problem:
                if patient and not got:
                    continue
                raise self._lost(problem) from None
            except OSError as problem:
                raise self._lost(problem) from None
            if not more:
                raise self._lost(EOFError())
            got += more

    def request(self) -> RelayRequest:
        """Return the worker's next request."""
        data = np.empty(LENGTH, np.uint8)
        self.fill(data, patient=True)
        try:
            return RelayRequest.of(data.tobytes())
        except DistributedError as problem:
            raise DistributedError(f"{self._other} sent {problem}") from None

    def assure(self) -> None:
        """Confirm to the worker that it may continue."""
        self.send(_REPLY.pack(Reply.WELL, 0))

    def give(self, data: Bytes) -> None:
        """Send values to the worker."""
        for piece in pieces(data):
            self.assure()
            self.send(piece.data)

    def refuse(self, problem: DistributedError) -> None:
        """Send the problem to the worker, if it still listens."""
        reply = Reply.LOST if isinstance(problem, PeerLostError) else Reply.WRONG
        reason = str(problem).encode()[:_REASON]
        with suppress(PeerLostError):
            self.send(_REPLY.pack(reply, len(reason)) + reason)

    def await_assurance(self) -> None:
        """Wait for the driver's confirmation. Raises the problem that the driver reports instead."""
        data = np.empty(_REPLY.size, np.uint8)
        self.fill(data)
        reply, length = _REPLY.unpack(data.tobytes())
        if reply == Reply.WELL:
            return
        reason = np.empty(length, np.uint8)
        self.fill(reason)
        kind = PeerLostError if reply == Reply.LOST else DistributedError
        raise kind(reason.tobytes().decode(errors="replace"))

    def take(self, data: Bytes) -> None:
        """Receive values from the driver."""
        for piece in pieces(data):
            self.await_assurance()
            self.fill(piece)

    def end(self, how: int = socket.SHUT_RDWR) -> None:
        """Shut the connection down, which ends all waiting at both ends."""
        with suppress(OSError):
            self.socket.shutdown(how)

    def close(self) -> None:
        """Close the connection. No thread may be using it."""
        self.end()
        self.socket.close()

    def _lost(self, problem: Exception) -> PeerLostError:
        if isinstance(problem, TimeoutError):
            return PeerLostError(f"{self._other} gave no sign of life for {self._timeout:g} s")
        return PeerLostError(f"{self._other} is gone")


def pieces(data: Bytes) -> Iterator[Bytes]:
    """Yield a buffer in parts that are sent one at a time."""
    for start in range(0, data.size, PIECE):
        yield data[start : start + PIECE]


def lengths(total: int) -> Iterator[int]:
    """Yield the number of bytes in each part."""
    for start in range(0, total, PIECE):
        yield min(PIECE, total - start)


def bytes_of(values: NDArray[Any]) -> Bytes:
    """Return the bytes of an array, as a view."""
    return values.view(np.uint8)
