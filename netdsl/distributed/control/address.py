"""The address of a control server, and the way from a worker to it."""

from __future__ import annotations

import os
import socket
import ssl
import struct
import time

import msgspec

from netdsl.distributed.control.encryption import EncryptedSocket, Endpoint, new_context

_KEEP_ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}  # a lost machine is noticed within 40 s
_CREDENTIALS = struct.Struct("3i")  # process, user and group
_LOOPBACK = "127.0.0.1"


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

    def reached_from(self, connection: Endpoint) -> str:
        """Return the address of this machine at which other workers can reach it."""
        return _LOOPBACK


class NetworkPort(msgspec.Struct, frozen=True, tag=True):
    """A port to which connections are encrypted. The server proves itself with a certificate."""

    host: str
    port: int
    fingerprint: str  # of the certificate
    greeting: str  # what the server expects before the handshake

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def connect(self, timeout: float) -> EncryptedSocket:
        """Return an encrypted connection. Raises an `OSError` if the server doesn't have the certificate."""
        deadline = time.monotonic() + timeout
        connection = socket.create_connection((self.host, self.port), timeout)
        try:
            keep_alive(connection)
            connection.sendall(self.greeting.encode())
            encrypted = EncryptedSocket(connection, new_context(ssl.PROTOCOL_TLS_CLIENT), server=False)
            encrypted.shake_hands(deadline, self.fingerprint)
        except BaseException:
            connection.close()
            raise
        return encrypted

    def reached_from(self, connection: Endpoint) -> str:
        """Return the address with which this machine reaches the server, and at which other workers can reach it."""
        return str(connection.getsockname()[0])


class ControlAddress(msgspec.Struct, frozen=True):
    """The place of a control server, and the token with which workers identify themselves."""

    place: LocalSocket | NetworkPort
    token: str


def peer_of_user(connection: socket.socket) -> int | None:
    """Return the process at the other end of a local connection, or `None` if it belongs to another user.

    A system that doesn't know it returns 0. There, permissions of the socket's folder keep other users out.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(data)
    return int(process) if user == os.geteuid() else None


def keep_alive(connection: socket.socket) -> None:
    """Let the system notice a lost machine at the other end, and send small messages at once."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):  # some systems lack some of these options
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
