"""The address of a control server, and the way from a worker to it."""

from __future__ import annotations

import os
import socket
import ssl
import struct

import msgspec

from netdsl.distributed.control.encryption import EncryptedSocket, Endpoint, new_context
from netdsl.distributed.control.identity import Identity
from netdsl.distributed.control.interfaces import plain
from netdsl.distributed.control.reach import PROBE, first_reached

_KEEP_ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}  # a lost machine is noticed within 40 s
_CREDENTIALS = struct.Struct("3i")  # process, user and group
_LOOPBACK = "127.0.0.1"
DEADLINE = 120.0  # seconds without a sign of life after which either end counts the other as lost, by default


class LocalSocket(msgspec.Struct, frozen=True, tag=True):
    """A Unix socket, which only processes of this machine and user may use."""

    name: str  # the path that leads to it

    def __str__(self) -> str:
        return f"the local socket {self.name}"

    def connect(self, timeout: float) -> socket.socket:
        """Return a connection to the socket. Raises an `OSError` if another user's process listens there."""
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(timeout)
            connection.connect(self.name)
            if peer_of_user(connection) is None:
                raise PermissionError("another user's process listens there")
        except BaseException:
            connection.close()
            raise
        return connection

    def over(self, connection: Endpoint) -> LocalSocket:
        """Return the socket itself, since there is one way to it."""
        return self

    def reached_from(self, connection: Endpoint) -> str:
        """Return the address of this machine at which other workers can reach it."""
        return _LOOPBACK


class NetworkPort(msgspec.Struct, frozen=True, tag=True):
    """A port to which connections are encrypted. The server proves itself with a certificate, at whichever of its
    addresses."""

    hosts: tuple[str, ...]  # addresses and names at which workers may reach the server's machine, the best first
    port: int
    fingerprint: str  # of the certificate
    greeting: str  # what the server expects before the handshake
    silence: float = DEADLINE  # seconds without an answer after which the system ends a connection

    @classmethod
    def of(cls, identity: Identity, hosts: tuple[str, ...], port: int, silence: float = DEADLINE) -> NetworkPort:
        """Return the port of a server with an identity."""
        return cls(hosts, port, identity.fingerprint, identity.greeting, silence)

    def __str__(self) -> str:
        host = self.hosts[0]
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    def connect(self, timeout: float) -> EncryptedSocket:
        """Return an encrypted connection, over the first address at which a server with the certificate answers.

        Raises an `UnreachableServerError` if there is none. Only that server reads the token, which comes later.
        """
        return first_reached(self.hosts, self.port, self._secure, min(timeout, PROBE))

    def _secure(self, connection: socket.socket, deadline: float) -> EncryptedSocket:
        keep_alive(connection, self.silence)
        connection.sendall(self.greeting.encode())
        encrypted = EncryptedSocket(connection, new_context(ssl.PROTOCOL_TLS_CLIENT), server=False)
        encrypted.shake_hands(deadline, self.fingerprint)
        return encrypted

    def over(self, connection: Endpoint) -> NetworkPort:
        """Return the port at the address that a connection has reached."""
        return msgspec.structs.replace(self, hosts=(plain(connection.getpeername()[0]),))

    def reached_from(self, connection: Endpoint) -> str:
        """Return the address with which this machine reaches the server, and at which other workers can reach it."""
        return plain(connection.getsockname()[0])


class ControlAddress(msgspec.Struct, frozen=True):
    """The place of a control server, and the token with which workers identify themselves."""

    place: LocalSocket | NetworkPort
    token: str


def is_beside(connection: Endpoint) -> bool:
    """Return whether both ends of a connection are on one machine."""
    here, there = connection.getsockname(), connection.getpeername()
    return not (here and there) or isinstance(here, str) or here[0] == there[0]


def peer_of_user(connection: socket.socket) -> int | None:
    """Return the process at the other end of a local connection, or `None` if it belongs to another user.

    A system that doesn't know it returns 0. There, permissions of the socket's folder keep other users out.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(data)
    return int(process) if user == os.geteuid() else None


def keep_alive(connection: socket.socket, silence: float) -> None:
    """Let the system notice a lost machine at the other end, and send small messages at once.

    Without the limit of `silence` seconds for unconfirmed data, the system would try for a quarter of an hour.
    """
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for name, value in {**_KEEP_ALIVE, "TCP_USER_TIMEOUT": round(1000 * silence)}.items():
        if hasattr(socket, name):  # some systems lack some of these options
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
