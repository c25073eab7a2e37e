"""A connection between a worker and the driver: values in pieces, each after the driver's assurance."""

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

from netdsl.distributed.transports.lanes import LANES
from netdsl.errors import DistributedError, PeerLostError

NUMBERS = 4096  # that one gather holds
REAL = np.dtype(np.float64)
RAW = np.dtype(np.uint8)
SUMMED: tuple[np.dtype[Any], ...] = (
    np.dtype(np.float32),
    REAL,
    np.dtype(np.int64),
)  # kinds of values that can be added up
_KINDS = (*SUMMED, RAW)
_MOST = 1 << 40  # values; what claims more isn't a request
_FORM = struct.Struct("<BBxxiQd")
LENGTH = _FORM.size  # of a request, in bytes
CONTROL = LANES  # the connection for what has no lane
TIMEOUT = 60.0  # seconds that others may keep a worker waiting
PIECE = 1 << 20  # bytes: what is under way stays in the cache
_REPLY = struct.Struct("<BxH")  # what it is, and how long the reason that follows
_REASON = 0xFFFF  # bytes of the longest
Bytes = NDArray[np.uint8]


class RelayOperation(IntEnum):
    """Everything that a worker can ask for."""

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


CHANGES = (RelayOperation.READ, RelayOperation.WRITE, RelayOperation.ADD)  # what is done with a variable
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
    count: int = 0  # of values
    other: int = 0  # the root, who receives or sends, or the number of a variable
    value: float = 1.0  # a weight

    def __str__(self) -> str:
        return _TEXTS[self.operation].format(self)

    def packed(self) -> bytes:
        """As it goes over the network."""
        return _FORM.pack(self.operation, _KINDS.index(self.kind), self.other, self.count, self.value)

    @classmethod
    def of(cls, data: bytes) -> RelayRequest:
        """Return what came over the network; a DistributedError if that is nonsense."""
        operation, kind, other, count, value = _FORM.unpack(data)
        try:
            request = cls(RelayOperation(operation), _KINDS[kind], count, other, value)
        except (ValueError, IndexError):
            raise DistributedError("a request that nobody understands") from None
        if count > (NUMBERS if request.operation is RelayOperation.GATHER else _MOST):
            raise DistributedError(f"a request for {count} values at once")
        return request

    @property
    def common(self) -> tuple[object, ...]:
        """What must be equal for all workers of an operation; only the weight may differ."""
        return self.operation, self.kind, self.count, self.other


class Reply(IntEnum):
    """The driver's assurance, or why there is none."""

    WELL = 0
    WRONG = 1  # workers ask for what makes no sense
    LOST = 2  # a worker is gone


class Connection:
    """One end of a connection; `other` names who is at the other end."""

    def __init__(self, endpoint: socket.socket, other: str, timeout: float) -> None:
        self.socket, self._other, self._timeout = endpoint, other, timeout
        endpoint.settimeout(timeout)
        with suppress(OSError):  # not every kind has it
            endpoint.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes | memoryview) -> None:
        """Send it all."""
        try:
            self.socket.sendall(data)
        except OSError as problem:
            raise self._lost(problem) from None

    def send_pieces(self, data: Bytes) -> None:
        """Send it all, of which each piece has the time that all may take."""
        for piece in pieces(data):
            self.send(piece.data)

    def fill(self, data: Bytes, *, patient: bool = False) -> None:
        """Receive as much as there is room for. A patient receiver waits for its beginning as long as it takes."""
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
            raise DistributedError(f"{self._other} sends {problem}") from None

    def assure(self) -> None:
        """Say to the worker that all is well."""
        self.send(_REPLY.pack(Reply.WELL, 0))

    def give(self, data: Bytes) -> None:
        """Send the worker values."""
        for piece in pieces(data):
            self.assure()
            self.send(piece.data)

    def refuse(self, problem: DistributedError) -> None:
        """Say to the worker what is wrong, if it still listens."""
        reply = Reply.LOST if isinstance(problem, PeerLostError) else Reply.WRONG
        reason = str(problem).encode()[:_REASON]
        with suppress(PeerLostError):
            self.send(_REPLY.pack(reply, len(reason)) + reason)

    def await_assurance(self) -> None:
        """Wait until the driver says that all is well, or raise what it says is wrong."""
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
        """End all waiting here, at either end."""
        with suppress(OSError):
            self.socket.shutdown(how)

    def close(self) -> None:
        """Let go of it. Nobody may be using it."""
        self.end()
        self.socket.close()

    def _lost(self, problem: Exception) -> PeerLostError:
        if isinstance(problem, TimeoutError):
            return PeerLostError(f"no sign of life from {self._other} for {self._timeout:g} s")
        return PeerLostError(f"{self._other} is gone")


def pieces(data: Bytes) -> Iterator[Bytes]:
    """Yield a buffer in parts that are handled at once."""
    for start in range(0, data.size, PIECE):
        yield data[start : start + PIECE]


def lengths(total: int) -> Iterator[int]:
    """Yield how many bytes are in each of them."""
    for start in range(0, total, PIECE):
        yield min(PIECE, total - start)


def bytes_of(values: NDArray[Any]) -> Bytes:
    """Return the bytes of an array in a row."""
    return values.view(np.uint8)
