"""The doors of a control server: a Unix socket for processes of its machine, or a port for other machines."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import sys
import tempfile
from ipaddress import ip_network
from typing import Any, Protocol

from netdsl.distributed.control.address import DEADLINE, LocalSocket, NetworkPort, keep_alive, peer_of_user
from netdsl.distributed.control.encryption import EncryptedSocket, Endpoint
from netdsl.distributed.control.identity import Identity
from netdsl.distributed.control.interfaces import as_ip, plain
from netdsl.distributed.control.place import NetworkPlace
from netdsl.errors import DistributedError

_SOCKET = "control"  # the name of a local socket in its folder
_BACKLOG = 1024  # connections that the system accepts in advance
_OF_ONE_MACHINE = 64  # bits of an IPv6 address that its owner can't choose


class Door(Protocol):
    """A place at which a control server listens.

    `greeting` is what processes that belong here send first. It is empty if the system already tells that they do.
    """

    listener: socket.socket
    greeting: str

    def place(self) -> LocalSocket | NetworkPort:
        """Return the place as workers see it."""
        ...

    def peer_of(self, connection: socket.socket, address: Any) -> str | None:
        """Return the peer of a connection that was accepted, or `None` if it doesn't belong here."""
        ...

    def secure(self, connection: socket.socket, deadline: float) -> Endpoint:
        """Return the connection over which the token may travel, before the deadline."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


def open_door(place: NetworkPlace | None, identity: Identity, silence: float = DEADLINE) -> Door:
    """Listen at a place in the network, or for processes of this machine only if there is none.

    The system ends a connection whose other end doesn't confirm data for `silence` seconds.
    """
    if place is not None:
        return NetworkDoor(place, identity, silence)
    try:
        return LocalDoor()
    except OSError as problem:
        raise DistributedError(
            f"the supervisor can't listen at a local socket: {problem}; set TMPDIR to another folder, with a short path"
        ) from None


class LocalDoor:
    """Listens at a Unix socket in a folder that only this user may enter. Each process of the user is a peer.

    On Linux, its file is removed and the way to it leads through this process, so a killed process leaves nothing.
    """

    greeting = ""

    def __init__(self) -> None:
        self._folder, self._descriptor = tempfile.mkdtemp(prefix="netdsl-"), -1
        self.listener = socket.socket(socket.AF_UNIX)
        try:
            self._name = self._bind_without_file() if sys.platform == "linux" else self._bind_file()
            self.listener.listen(_BACKLOG)
        except OSError:
            self.close()
            raise

    def _bind_file(self) -> str:
        self.listener.bind(path := f"{self._folder}/{_SOCKET}")
        return path

    def _bind_without_file(self) -> str:
        """Bind the listener, remove its folder, and return a path that still leads to it. Other users can't follow such
        a path."""
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            self.listener.bind(f"/proc/self/fd/{folder}/{_SOCKET}")  # the path of the folder may be too long
            self._descriptor = os.open(_SOCKET, os.O_PATH, dir_fd=folder)
        finally:
            os.close(folder)
        shutil.rmtree(self._folder)
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    def place(self) -> LocalSocket:
        """Return the socket."""
        return LocalSocket(self._name)

    def peer_of(self, connection: socket.socket, address: Any) -> str | None:
        """Return the process at the other end, or `None` if it belongs to another user."""
        process = peer_of_user(connection)
        return None if process is None else str(process)

    def secure(self, connection: socket.socket, deadline: float) -> socket.socket:
        """Return the connection itself, which doesn't leave this machine."""
        return connection

    def close(self) -> None:
        """Stop listening."""
        self.listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class NetworkDoor:
    """Listens at a port, with a certificate. Each address is a peer.

    Workers send a greeting before the handshake, which costs much more time than a comparison. Strangers don't know it,
    unless they read the network's traffic.
    """

    def __init__(self, place: NetworkPlace, identity: Identity, silence: float) -> None:
        self._place, self._identity, self._silence = place, identity, silence
        self.listener = _listener_at(place)
        self.greeting, self._context = identity.greeting, identity.context()

    def place(self) -> NetworkPort:
        """Return the port at the hosts under which workers may know this machine."""
        port = self.listener.getsockname()[1]
        return NetworkPort.of(self._identity, self._place.hosts, port, self._silence)

    def peer_of(self, connection: socket.socket, address: Any) -> str | None:
        """Return the address at the other end."""
        return _peer_at(address[0])

    def secure(self, connection: socket.socket, deadline: float) -> EncryptedSocket:
        """Encrypt the connection."""
        keep_alive(connection, self._silence)
        encrypted = EncryptedSocket(connection, self._context, server=True)
        encrypted.shake_hands(deadline)
        return encrypted

    def close(self) -> None:
        """Stop listening."""
        self.listener.close()


def _listener_at(place: NetworkPlace) -> socket.socket:
    """Return a listener at the first port of a place that is free."""
    where = place.bound or "any address"
    for port in place.ports:
        try:
            return _listen(place.bound, port)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise DistributedError(
                    f"the supervisor can't listen at {where}: {problem.strerror or problem}; name an address of this "
                    "machine"
                ) from None
    first, last = place.ports[0], place.ports[-1]
    which = f"port {first}" if first == last else f"ports {first} to {last}"
    raise DistributedError(f"the supervisor can't listen at {where}, {which}: already in use; name a free port")


def _listen(host: str | None, port: int) -> socket.socket:
    if host is not None:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = min(found, key=lambda each: each[0] != socket.AF_INET)
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=_BACKLOG)
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                raise
    return socket.create_server(("0.0.0.0", port), backlog=_BACKLOG)  # this system has no IPv6


def _peer_at(address: str) -> str:
    """Return the peer to which a connection counts: an IPv4 address, or a network of IPv6, in which a machine may take
    any address."""
    ip = as_ip(address)
    if ip is None or ip.version == 4:
        return plain(address)
    return str(ip_network((ip, _OF_ONE_MACHINE), strict=False))
