"""Messages between workers and the control server: MessagePack with its length, after a token that lets them in."""

from __future__ import annotations

import socket
import struct
import time
from enum import Enum, IntEnum
from typing import Any, TypeVar

import msgspec

from netdsl.distributed.journal import Membership
from netdsl.errors import DistributedError

TOKEN_BYTES = 32
HANDSHAKE = 10.0  # seconds for a new connection to show the token and say which worker it is
_LONGEST = 1 << 24  # bytes of a message; the longest record is far below
_LENGTH = struct.Struct(">I")

T = TypeVar("T")


class Sign(Enum):
    """A worker's sign of life: what it has done since the last one."""

    WORKING = "working"
    WAITING = "waiting"


class Ending(IntEnum):
    """How a worker ended. The lowest of several says most about what went wrong."""

    CRASHED = 0  # with an exception
    GONE = 1  # without a word
    LOST = 2  # because it lost another
    DONE = 3
    FAILED = 4  # with an error of the user's, which would come again


class Purpose(Enum):
    """What a connection is for."""

    CONTROL = "control"  # heartbeats and reports out, requests to stop in
    STORE = "store"  # a dictionary that all workers share
    RELAY = "relay"  # a lane of the relay


class Hello(msgspec.Struct, frozen=True, tag=True):
    """A worker's first message."""

    rank: int
    host: str
    purpose: Purpose = Purpose.CONTROL
    lane: int = 0
    meeting: int = 0  # that the connection is for


class Heartbeat(msgspec.Struct, frozen=True, tag=True):
    """A worker is alive."""

    sign: Sign


class WorkerReport(msgspec.Struct, frozen=True, tag=True):
    """An event or the record of a round, as plain values."""

    contents: dict[str, Any]


class Ended(msgspec.Struct, frozen=True, tag=True):
    """A worker has come to its end."""

    ending: Ending
    reason: str = ""


class Left(msgspec.Struct, frozen=True, tag=True):
    """A worker takes part no longer, and waits until it does again; with a reason if it lost another."""

    reason: str = ""


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """The server's answer to a worker that it lets in."""


class Join(msgspec.Struct, frozen=True, tag=True):
    """The server's word that a worker takes part, and with whom."""

    meeting: int  # its number, which tells what belongs to it from what is late
    membership: Membership
    elastic: bool  # whether those who are left wait for the next membership when a worker is lost
    until: int | None = None  # the round after which all leave, if that is planned


class LeaveAfterRound(msgspec.Struct, frozen=True, tag=True):
    """The server's request to leave when a round is finished, since another worker has come."""


class StopAfterRound(msgspec.Struct, frozen=True, tag=True):
    """The server's request to stop when a round is finished."""


class Abort(msgspec.Struct, frozen=True, tag=True):
    """The server's word that a worker was lost, so that waiting for others is in vain."""

    reason: str


class StoreRequest(msgspec.Struct, frozen=True, tag=True):
    """An operation on the shared dictionary."""

    operation: str
    keys: tuple[str, ...]
    value: bytes = b""
    expected: bytes = b""
    amount: int = 0


class StoreReply(msgspec.Struct, frozen=True, tag=True):
    """Its result."""

    value: bytes = b""
    number: int = 0


FromWorker = Hello | Heartbeat | WorkerReport | Left | Ended | StoreRequest
ToWorker = Welcome | Join | LeaveAfterRound | StopAfterRound | Abort | StoreReply
_FROM_WORKER = msgspec.msgpack.Decoder(FromWorker)
_TO_WORKER = msgspec.msgpack.Decoder(ToWorker)


def send(connection: socket.socket, message: FromWorker | ToWorker) -> None:
    """Send a message."""
    data = msgspec.msgpack.encode(message)
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive_from_worker(connection: socket.socket, deadline: float | None = None) -> FromWorker | None:
    """Return the next message of a worker; None at the end. Nonsense is a DistributedError."""
    return _receive_message(connection, _FROM_WORKER, deadline)


def receive_from_server(connection: socket.socket, deadline: float | None = None) -> ToWorker | None:
    """Return the next message of the server; None at the end."""
    return _receive_message(connection, _TO_WORKER, deadline)


def receive_exactly(connection: socket.socket, length: int, deadline: float | None = None) -> bytes | None:
    """So many bytes, or None if the connection ends before; all of them until one deadline, if there is one."""
    data = bytearray()
    while len(data) < length:
        if deadline is not None:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError("too slow")
            connection.settimeout(remaining)
        more = connection.recv(length - len(data))
        if not more:
            return None
        data += more
    return bytes(data)


def _receive_message(
    connection: socket.socket, decoder: msgspec.msgpack.Decoder[T], deadline: float | None
) -> T | None:
    head = receive_exactly(connection, _LENGTH.size, deadline)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > _LONGEST:
        raise DistributedError(f"a message of {length} bytes, which is too long")
    data = receive_exactly(connection, length, deadline)
    if data is None:
        return None
    try:
        return decoder.decode(data)
    except msgspec.MsgspecError as problem:
        raise DistributedError(f"a message that nobody understands: {problem}") from None
