"""Messages between workers and the control server: MessagePack with a length prefix, after a token that admits a
worker."""

from __future__ import annotations

import secrets
import struct
import time
from enum import Enum, IntEnum
from typing import Any, TypeVar

import msgspec

from netdsl.distributed.control.encryption import Endpoint
from netdsl.distributed.control.versions import Versions
from netdsl.distributed.journal import Membership
from netdsl.errors import DistributedError

HANDSHAKE = 10.0  # seconds for a new connection to send the token and identify its worker
_LONGEST = 1 << 24  # bytes of a message; the longest record is far shorter
_LENGTH = struct.Struct(">I")

T = TypeVar("T")


class Sign(Enum):
    """A worker's sign of life: its activity since the last one."""

    WORKING = "working"
    WAITING = "waiting"


class Ending(IntEnum):
    """The way in which a worker ended. Among several endings, the lowest explains a failure best."""

    CRASHED = 0  # with an exception
    GONE = 1  # without a report
    LOST = 2  # because it lost another worker
    DONE = 3
    FAILED = 4  # with an error that the user must fix, and that a retry would repeat
    DIVERGED = 5  # the same, because losses or weights aren't finite


class Purpose(Enum):
    """The purpose of a connection."""

    CONTROL = "control"  # heartbeats and reports to the server, requests to stop from it
    STORE = "store"  # a dictionary that all workers share
    RELAY = "relay"  # a lane of the relay
    FILES = "files"  # the run's folder, for a worker that doesn't see it
    CODE = "code"  # the modules that the supervisor sends
    POSTED = "posted"  # what the first worker tells the others at the beginning


class Hello(msgspec.Struct, frozen=True, tag=True):
    """A worker's first message."""

    rank: int
    host: str
    purpose: Purpose = Purpose.CONTROL
    lane: int = 0
    meeting: int = 0  # to which the connection belongs
    versions: Versions | None = None  # of the worker's programs, with its first connection


class Heartbeat(msgspec.Struct, frozen=True, tag=True):
    """A worker's report that it is alive, which the server confirms. Without a sign, it only asks for that."""

    sign: Sign | None


class WorkerReport(msgspec.Struct, frozen=True, tag=True):
    """An event or the record of a round, as plain values."""

    contents: dict[str, Any]


class Ended(msgspec.Struct, frozen=True, tag=True):
    """A worker's report that it has ended."""

    ending: Ending
    reason: str = ""


class Left(msgspec.Struct, frozen=True, tag=True):
    """A worker's report that it waits for the next membership. The reason is set if it lost another worker."""

    reason: str = ""


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """The server's answer to a worker that it admits."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The server's answer to a worker that it knows and doesn't admit."""


class Posted(msgspec.Struct, frozen=True, tag=True):
    """What the first worker tells the others at the beginning: the spec as text, or the reason of its failure."""

    spec: str = ""
    host: str = ""  # of a first worker that has failed
    reason: str = ""


class Code(msgspec.Struct, frozen=True, tag=True):
    """The modules that the supervisor sends: their files, by their paths below a common folder."""

    files: dict[str, bytes]


class Peer(msgspec.Struct, frozen=True):
    """Where other workers may reach a worker, what it answers there, or why it can't be reached."""

    ip: str = ""
    port: int = 0
    secret: str = ""
    problem: str = ""


class Introduce(msgspec.Struct, frozen=True, tag=True):
    """The server's request to listen for other workers, and to tell where."""

    number: int  # of the introduction, which separates its answers from late ones of earlier ones
    reached: str = ""  # where workers of other machines have reached the server's machine, if there are any


class Introduced(msgspec.Struct, frozen=True, tag=True):
    """A worker's answer: where others may reach it."""

    number: int
    peer: Peer


class TryPeers(msgspec.Struct, frozen=True, tag=True):
    """The server's request to try to reach other workers, by rank."""

    number: int
    peers: dict[int, Peer]


class TriedPeers(msgspec.Struct, frozen=True, tag=True):
    """A worker's answer: what happened at the workers that it didn't reach, by rank."""

    number: int
    problems: dict[int, str]


class Join(msgspec.Struct, frozen=True, tag=True):
    """The server's message that a worker takes part, with the membership."""

    meeting: int  # its number, which separates its connections from late ones of earlier meetings
    membership: Membership
    transport: str  # its name; only a plug-in may know the transport
    elastic: bool  # whether the remaining workers wait for the next membership when a worker is lost
    until: int | None = None  # the round after which all leave, if that is planned


class LeaveAfterRound(msgspec.Struct, frozen=True, tag=True):
    """The server's request to leave when a round is finished, because another worker wants to join."""


class StopAfterRound(msgspec.Struct, frozen=True, tag=True):
    """The server's request to stop when a round is finished."""


class Confirmed(msgspec.Struct, frozen=True, tag=True):
    """The server's answer to a heartbeat, which shows the worker that it is still connected."""


class Abort(msgspec.Struct, frozen=True, tag=True):
    """The server's message that a worker was lost, so waiting for other workers is pointless."""

    reason: str
    final: bool = False  # whether the supervisor gives up, so that workers that don't take part yet end too


class StoreRequest(msgspec.Struct, frozen=True, tag=True):
    """An operation on the shared dictionary."""

    operation: str
    keys: tuple[str, ...]
    value: bytes = b""
    expected: bytes = b""
    amount: int = 0


class StoreReply(msgspec.Struct, frozen=True, tag=True):
    """The result of an operation on the shared dictionary."""

    value: bytes = b""
    number: int = 0


class FileOperation(Enum):
    """An operation on a file in the run's folder."""

    READ = "read"  # the contents follow the reply
    WRITE = "write"  # the contents follow the request
    REMOVE = "remove"
    LIST = "list"  # the names of the files in a folder


class FileRequest(msgspec.Struct, frozen=True, tag=True):
    """An operation on a file in the run's folder. The name is relative to the folder."""

    operation: FileOperation
    name: str
    size: int = 0  # bytes that follow


class EntryDone(msgspec.Struct, frozen=True, tag=True):
    """A request to complete an entry of the run's journal, of which all parts have been sent."""

    after: int
    members: tuple[int, ...]
    parts: tuple[int, ...]
    score: float | None


class FileReply(msgspec.Struct, frozen=True, tag=True):
    """The result of a request about the run's folder. The problem is set if it failed."""

    size: int = 0  # bytes that follow
    names: tuple[str, ...] = ()
    problem: str = ""


Sent = Heartbeat | WorkerReport | Introduced | TriedPeers | Left | Ended  # by a worker after its first message
Instruction = Introduce | TryPeers | Join | LeaveAfterRound | StopAfterRound | Abort  # by the server, at any time
FromWorker = Hello | Sent | StoreRequest | FileRequest | EntryDone
ToWorker = Welcome | Refused | Posted | Code | Confirmed | Instruction | StoreReply | FileReply
_FROM_WORKER = msgspec.msgpack.Decoder(FromWorker)
_TO_WORKER = msgspec.msgpack.Decoder(ToWorker)


def send(connection: Endpoint, message: FromWorker | ToWorker) -> None:
    """Send a message."""
    data = msgspec.msgpack.encode(message)
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive_from_worker(connection: Endpoint, deadline: float | None = None) -> FromWorker | None:
    """Return the next message of a worker, or `None` at the end. Raises a `DistributedError` for an unknown message."""
    return _receive_message(connection, _FROM_WORKER, deadline)


def receive_from_server(connection: Endpoint, deadline: float | None = None) -> ToWorker | None:
    """Return the next message of the server, or `None` at the end."""
    return _receive_message(connection, _TO_WORKER, deadline)


def receive_exactly(connection: Endpoint, length: int, deadline: float | None = None) -> bytes | None:
    """Return this many bytes, or `None` if the connection ends early. The deadline, if any, applies to all of them."""
    data = bytearray()
    while len(data) < length:
        if deadline is not None:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError("the other end took too long to send a message")
            connection.settimeout(remaining)
        more = connection.recv(length - len(data))
        if not more:
            return None
        data += more
    return bytes(data)


def is_received(connection: Endpoint, secret: str, deadline: float) -> bool:
    """Return whether the next bytes are this secret."""
    received = receive_exactly(connection, len(secret), deadline)
    return received is not None and secrets.compare_digest(received, secret.encode())


def _receive_message(connection: Endpoint, decoder: msgspec.msgpack.Decoder[T], deadline: float | None) -> T | None:
    head = receive_exactly(connection, _LENGTH.size, deadline)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > _LONGEST:
        raise DistributedError(
            f"the other end announced a message of {length} bytes, which is too long; start all workers with the "
            "same version of netdsl"
        )
    data = receive_exactly(connection, length, deadline)
    if data is None:
        return None
    try:
        return decoder.decode(data)
    except msgspec.MsgspecError as problem:
        raise DistributedError(
            f"the other end sent an unknown message: {problem}; start all workers with the same version of netdsl"
        ) from None
