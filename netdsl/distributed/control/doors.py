"""The doors of a control server: a Unix socket for processes of its machine, or a port for other machines."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import sys
import tempfile
from contextlib import suppress
from typing import Protocol

from netdsl.distributed.control.address import LocalSocket, NetworkPort, keep_alive, peer_of_user
from netdsl.distributed.control.certificate import certified_context
from netdsl.distributed.control.encryption import EncryptedSocket, Endpoint
from netdsl.distributed.control.protocol import TOKEN_BYTES, is_received
from netdsl.errors import DistributedError

_SOCKET = "control"  # the name of a local socket in its folder
_BACKLOG = 1024  # connections that the system accepts in advance


class Door(Protocol):
    """A place at which a control server listens."""

    def place(self, host: str | None) -> LocalSocket | NetworkPort:
        """Return the place as workers see it, who reach this machine at the host."""
        ...

    def accept(self) -> tuple[socket.socket, str]:
        """Wait for a connection, and return it with its peer, from which nothing has been read."""
        ...

    def is_greeted(self, connection: socket.socket, deadline: float) -> bool:
        """Return whether the peer belongs here, as far as this can be known at no cost, before the deadline."""
        ...

    def secure(self, connection: socket.socket, deadline: float) -> Endpoint:
        """Return the connection over which the token may travel, before the deadline."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


def open_door(host: str | None, port: int) -> Door:
    """Listen at an address of this machine, or for processes of this machine only if there is none."""
    try:
        return LocalDoor() if host is None else NetworkDoor(host, port)
    except OSError as problem:
        if host is None:
            raise DistributedError(
                f"the supervisor can't listen at a local socket: {problem}; set TMPDIR to another folder, with a "
                "short path"
            ) from None
        where, advice = (f"{host}:{port}", "a free port") if port else (host, "an address of this machine")
        raise DistributedError(f"the supervisor can't listen at {where}: {problem}; name {advice}") from None


class LocalDoor:
    """Listens at a Unix socket in a folder that only this user may enter. Each process of the user is a peer.

    On Linux, its file is removed and the way to it leads through this process, so a killed process leaves nothing.
    """

    def __init__(self) -> None:
        self._folder, self._descriptor = tempfile.mkdtemp(prefix="netdsl-"), -1
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            self._name = self._bind_without_file() if sys.platform == "linux" else self._bind_file()
            self._listener.listen(_BACKLOG)
        except OSError:
            self.close()
            raise

    def _bind_file(self) -> str:
        self._listener.bind(path := f"{self._folder}/{_SOCKET}")
        return path

    def _bind_without_file(self) -> str:
        """Bind the listener, remove its folder, and return a path that still leads to it. Other users can't follow such
        a path."""
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            self._listener.bind(f"/proc/self/fd/{folder}/{_SOCKET}")  # the path of the folder may be too long
            self._descriptor = os.open(_SOCKET, os.O_PATH, dir_fd=folder)
        finally:
            os.close(folder)
        shutil.rmtree(self._folder)
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    def place(self, host: str | None) -> LocalSocket:
        """Return the socket."""
        return LocalSocket(self._name)

    def accept(self) -> tuple[socket.socket, str]:
        """Wait for a connection of this user. Those of others are closed at once."""
        while True:
            connection, _ = self._listener.accept()
            peer = peer_of_user(connection)
            if peer is not None:
                return connection, str(peer)
            connection.close()

    def is_greeted(self, connection: socket.socket, deadline: float) -> bool:
        """Return `True`, since the system has told the user."""
        return True

    def secure(self, connection: socket.socket, deadline: float) -> socket.socket:
        """Return the connection itself, which doesn't leave this machine."""
        return connection

    def close(self) -> None:
        """Stop listening."""
        _close_listener(self._listener)
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class NetworkDoor:
    """Listens at a port, with a certificate of its own. Each address is a peer.

    Workers send a greeting before the handshake, which costs much more time than a comparison. Strangers don't know it,
    unless they read the network's traffic.
    """

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._listener = socket.create_server((host, port), backlog=_BACKLOG)
        self._context, self._fingerprint = certified_context()
        self._greeting = secrets.token_hex(TOKEN_BYTES // 2)

    def place(self, host: str | None) -> NetworkPort:
        """Return the port at a host."""
        return NetworkPort(host or self._host, self._listener.getsockname()[1], self._fingerprint, self._greeting)

    def accept(self) -> tuple[socket.socket, str]:
        """Wait for a connection."""
        connection, address = self._listener.accept()
        return connection, address[0]

    def is_greeted(self, connection: socket.socket, deadline: float) -> bool:
        """Return whether the greeting arrives before the deadline."""
        return is_received(connection, self._greeting, deadline)

    def secure(self, connection: socket.socket, deadline: float) -> EncryptedSocket:
        """Encrypt the connection."""
        keep_alive(connection)
        encrypted = EncryptedSocket(connection, self._context, server=True)
        encrypted.shake_hands(deadline)
        return encrypted

    def close(self) -> None:
        """Stop listening."""
        _close_listener(self._listener)


def _close_listener(listener: socket.socket) -> None:
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
    listener.close()
