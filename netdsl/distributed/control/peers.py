"""Finds out which workers reach each other, before they exchange over connections of their own."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

from netdsl.distributed.control.interfaces import as_ip, own_addresses
from netdsl.distributed.control.protocol import Peer, is_received
from netdsl.distributed.control.reach import PROBE, what_happened

GLOO_INTERFACE = "GLOO_SOCKET_IFNAME"  # with which users name the interface for exchanges
_SECRET_BYTES = 16
_AT_ONCE = 64  # attempts


class PeerDoor:
    """Listens where a worker's exchanges will arrive, at any port of that address, until it is closed.

    It sends each connection a secret, from which the other end knows whom it has reached. It reads nothing.
    """

    def __init__(self, ip: str) -> None:
        address = as_ip(ip)
        family = socket.AF_INET6 if address is not None and address.version == 6 else socket.AF_INET
        self._listener = socket.create_server((ip, 0), family=family, backlog=1024)
        self._secret = secrets.token_hex(_SECRET_BYTES)
        threading.Thread(target=self._answer, name="peer door", daemon=True).start()

    def peer(self) -> Peer:
        """Return what other workers need to try the address."""
        ip, port = self._listener.getsockname()[:2]
        return Peer(ip, port, self._secret)

    def close(self) -> None:
        """Stop listening."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()

    def _answer(self) -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                connection, _ = self._listener.accept()
                with connection, suppress(OSError):  # the other end may have left
                    connection.settimeout(0)  # the system takes the few bytes at once
                    connection.send(self._secret.encode())


def exchange_address(ip: str) -> str:
    """Return the address at which this worker's exchanges will arrive: `ip`, unless the user has named an interface.

    Raises an `OSError` if this machine has no such interface.
    """
    name = os.environ.get(GLOO_INTERFACE, "").partition(",")[0]
    addresses = own_addresses()
    if not (name and addresses):
        return ip
    if named := [address.ip for address in addresses if address.interface == name]:
        return named[0]
    raise OSError(f"{GLOO_INTERFACE} names the interface {name}, which doesn't exist or has no address")


def unreached(peers: Mapping[int, Peer]) -> dict[int, str]:
    """Try to reach all peers, many at a time. Return what happened at those that weren't reached."""
    with ThreadPoolExecutor(min(_AT_ONCE, len(peers) or 1)) as pool:
        problems = dict(zip(peers, pool.map(_problem_at, peers.values()), strict=True))
    return {rank: problem for rank, problem in problems.items() if problem}


def _problem_at(peer: Peer) -> str:
    """Return why a peer can't be reached. Returns an empty string if it can."""
    deadline = time.monotonic() + PROBE
    try:
        with socket.create_connection((peer.ip, peer.port), PROBE) as connection:
            if is_received(connection, peer.secret, deadline):
                return ""
        return f"{peer.ip} belongs to another machine"
    except OSError as problem:
        return f"{peer.ip} {what_happened(problem)}"


class Pair(NamedTuple):
    """A worker, and another one that it doesn't reach."""

    rank: int
    other: int


class Introduction:
    """The introduction of workers to each other before a meeting.

    Each tells where the others may reach it. Each then tries to reach the others, and tells the result.
    """

    def __init__(self, number: int, ranks: set[int]) -> None:
        self.number, self.ranks = number, frozenset(ranks)
        self._peers, self._tried = dict[int, Peer](), dict[int, Mapping[int, str]]()

    def note_peer(self, rank: int, peer: Peer) -> bool:
        """Note where a worker listens. Returns whether all listen now."""
        self._peers[rank] = peer
        return self._peers.keys() == self.ranks

    def note_tried(self, rank: int, problems: Mapping[int, str]) -> None:
        """Note which of the others a worker doesn't reach."""
        self._tried[rank] = problems

    def is_over(self) -> bool:
        """Return whether all workers have tried to reach the others."""
        return self._tried.keys() == self.ranks

    def peers_of(self, rank: int) -> dict[int, Peer]:
        """Return the others that a worker has to try."""
        return {other: peer for other, peer in self._peers.items() if other != rank and not peer.problem}

    def problems(self) -> dict[Pair, str]:
        """Return the pairs of workers of which one doesn't reach the other, with the reasons. A worker that can't
        listen is a pair by itself."""
        silent = {Pair(rank, rank): peer.problem for rank, peer in self._peers.items() if peer.problem}
        pairs = {Pair(rank, other): why for rank, tried in self._tried.items() for other, why in tried.items()}
        return silent | pairs
