"""Connections of strangers that wait, trickle, flood and don't read, for tests and benchmarks."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.patience import PATIENCE

if TYPE_CHECKING:
    from zoo.serving.server import Server

_HOST = b"Host: localhost\r\n"
_HEALTH = b"GET /health HTTP/1.1\r\n" + _HOST + b"\r\n"
_POST = b"POST /predict HTTP/1.1\r\nContent-Type: image/png\r\n" + _HOST
_CHUNKED = _POST + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True)
class Attack:
    """What a stranger sends at once, after the first answer, and again and again until the server ends the
    connection."""

    opening: bytes
    drip: bytes = b""
    after: bytes = b""
    reads: bool = True


ATTACKS = {
    "silence": Attack(b""),
    "half a head": Attack(b"GET /health HTTP/1.1\r\nHost: lo"),
    "a head byte by byte": Attack(b"GET /health HTTP/1.1\r\nX: ", b"x"),
    "endless headers": Attack(b"GET /health HTTP/1.1\r\n", b"a: b\r\n"),
    "empty lines": Attack(b"", b"\r\n"),
    "half a body": Attack(_POST + b"Content-Length: 999\r\n\r\n12345"),
    "a body byte by byte": Attack(_POST + b"Content-Length: 999\r\n\r\n", b"x"),
    "half a body in chunks": Attack(_CHUNKED + b"5\r\n12345\r\n"),
    "a body chunk by chunk": Attack(_CHUNKED, b"1\r\nx\r\n"),
    "a body after permission": Attack(_POST + b"Content-Length: 999\r\nExpect: 100-continue\r\n\r\n"),
    "a body where none belongs": Attack(b"GET /health HTTP/1.1\r\nContent-Length: 999\r\n" + _HOST + b"\r\n", b"x"),
    "a byte of the next request": Attack(_HEALTH, after=b"G"),
    "a byte of the next request at once": Attack(_HEALTH + b"G"),
    "the next request byte by byte": Attack(_HEALTH + b"GET /health HTTP/1.1\r\nX: ", b"x"),
    "half a body in the next request": Attack(_HEALTH + _POST + b"Content-Length: 999\r\n\r\n1", b"x"),
    "a request again and again": Attack(_HEALTH, b"HEAD /nothing HTTP/1.1\r\n" + _HOST + b"\r\n"),
    "answers that nobody reads": Attack((b"GET / HTTP/1.1\r\n" + _HOST + b"\r\n") * 3000, reads=False),
    "many short headers": Attack(b"GET /health HTTP/1.1\r\n" + b"a:\r\n" * 60_000),
    "a long header": Attack(b"GET /health HTTP/1.1\r\nX: " + b"x" * 200_000),
    "many small chunks": Attack(_CHUNKED + b"1\r\nx\r\n" * 40_000),
    "many small chunks in the next request": Attack(_HEALTH + _CHUNKED + b"1\r\nx\r\n" * 40_000),
    "long chunk extensions": Attack(_CHUNKED + (b"1;" + b"a=b;" * 2000 + b"\r\nx\r\n") * 20),
    "an upgrade": Attack(b"GET /health HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" + _HOST + b"\r\n"),
    "another version of HTTP": Attack(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "a flood of HEAD": Attack((b"HEAD / HTTP/1.1\r\n" + _HOST + b"\r\n") * 300),
    "a flood of OPTIONS": Attack((b"OPTIONS * HTTP/1.1\r\n" + _HOST + b"\r\n") * 300),
}


def port_of(server: Server) -> int:
    return int(server.address.rstrip("/").rpartition(":")[2])


@contextmanager
def strangers(port: int, attack: Attack, number: int, address: str = "127.0.0.1") -> Iterator[Sequence[socket.socket]]:
    """Open connections from an address and begin the attack."""
    with ExitStack() as stack:
        connections = [stack.enter_context(stranger(port, attack, address)) for _ in range(number)]
        yield connections


def stranger(port: int, attack: Attack, address: str = "127.0.0.1") -> socket.socket:
    """Return a connection on which the attack has begun. It may not take all bytes at once, or have ended already."""
    connection = socket.socket()
    if not attack.reads:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.bind((address, 0))
    connection.connect(("127.0.0.1", port))
    connection.setblocking(False)
    with suppress(OSError):
        connection.send(attack.opening)
        if attack.after:
            select.select([connection], [], [], PATIENCE)
            connection.recv(1 << 16)
            connection.send(attack.after)
    return connection


def has_ended(connection: socket.socket, attack: Attack) -> bool:
    """Continue an attack. Returns whether the server has ended the connection."""
    watched = select.poll()
    watched.register(connection, 0)
    if watched.poll(0):  # an error, or both sides have ended
        return True
    try:
        if attack.drip:
            connection.send(attack.drip)
        if attack.reads:
            return connection.recv(1 << 16) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    return False
