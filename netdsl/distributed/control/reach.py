"""Reaches a server that has several addresses: the first that answers is used, and the others cost no time."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from netdsl.distributed.control.encryption import EncryptedSocket
from netdsl.distributed.control.interfaces import as_ip, is_loopback

PROBE = 10.0  # seconds for an address to answer, if there are others
_APART = 0.2  # seconds between the beginnings of two attempts, unless the earlier one has failed
ENDED = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)  # errors of a connection that a server ends
_NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.ENETDOWN)
Attempt = Callable[[socket.socket, float], EncryptedSocket]  # secures a connection, before a time


class UnreachableServerError(OSError):
    """None of a server's addresses leads to it. The message contains what happened at each."""

    def __init__(self, problems: Mapping[str, OSError]) -> None:
        super().__init__("; ".join(f"{where} {what_happened(problem)}" for where, problem in problems.items()))
        self.was_ended = any(isinstance(problem, ENDED) for problem in problems.values())


class _Candidate(NamedTuple):
    """An address to try, and its name in messages."""

    name: str
    family: int
    address: Any


def first_reached(hosts: Sequence[str], port: int, attempt: Attempt, seconds: float) -> EncryptedSocket:
    """Return the first connection to one of the hosts for which an attempt succeeds. Each has this many seconds.

    Attempts begin shortly one after the other, in the order of hosts, and loopback addresses come last. Raises an
    `UnreachableServerError` if all fail.
    """
    return _Race(port, attempt, seconds).run(hosts)


class _Race:
    def __init__(self, port: int, attempt: Attempt, seconds: float) -> None:
        self._port, self._attempt, self._seconds = port, attempt, seconds
        self._happened: SimpleQueue[tuple[str, list[_Candidate] | EncryptedSocket | OSError]] = SimpleQueue()
        self._changing, self._is_over = threading.Lock(), False

    def run(self, hosts: Sequence[str]) -> EncryptedSocket:
        """Look up all names at once, and try the addresses as they become known."""
        order = {host: number for number, host in enumerate(hosts)}
        ready, problems, tried = list[tuple[bool, int, _Candidate]](), dict[str, OSError](), set[Any]()
        busy, start = len(order), time.monotonic()
        for host in order:
            if as_ip(host) is not None:  # there is nothing to wait for
                self._look_up(host)
            else:
                self._begin(self._look_up, host)
        try:
            while busy or ready:
                wait = max(0.0, start - time.monotonic()) if ready else None
                try:
                    name, what = self._happened.get(timeout=wait)
                except Empty:
                    ready.sort()
                    self._begin(self._try, ready.pop(0)[-1])
                    busy, start = busy + 1, time.monotonic() + _APART
                    continue
                busy -= 1
                if isinstance(what, OSError):
                    problems[name], start = what, time.monotonic()
                elif isinstance(what, EncryptedSocket):
                    return what
                else:
                    new = [candidate for candidate in what if candidate.address not in tried]
                    tried.update(candidate.address for candidate in new)
                    ready += [(is_loopback(candidate.address[0]), order[name], candidate) for candidate in new]
        finally:
            self._close_others()
        raise UnreachableServerError(problems)

    def _begin(self, work: Callable[[Any], None], *given: Any) -> None:
        threading.Thread(target=work, args=given, name="reaching", daemon=True).start()

    def _look_up(self, host: str) -> None:
        try:
            found = socket.getaddrinfo(host, self._port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as problem:
            self._happened.put((host, problem if isinstance(problem, OSError) else OSError(str(problem))))
            return
        candidates = []
        for family, _, _, _, address in found:
            ip = str(address[0])
            candidates.append(_Candidate(ip if ip == host else f"{host} ({ip})", family, address))
        self._happened.put((host, candidates))

    def _try(self, candidate: _Candidate) -> None:
        end = time.monotonic() + self._seconds
        connection = socket.socket(candidate.family, socket.SOCK_STREAM)
        try:
            connection.settimeout(self._seconds)
            connection.connect(candidate.address)
            reached = self._attempt(connection, end)
        except OSError as problem:
            connection.close()
            self._happened.put((candidate.name, problem))
            return
        except BaseException:
            connection.close()
            self._happened.put((candidate.name, OSError("failed in an unexpected way")))
            raise
        with self._changing:
            if not self._is_over:
                self._happened.put((candidate.name, reached))
                return
        reached.close()

    def _close_others(self) -> None:
        """Close the connections that came too late, now and later."""
        with self._changing:
            self._is_over = True
        while not self._happened.empty():
            _, what = self._happened.get()
            if isinstance(what, EncryptedSocket):
                what.close()


def what_happened(problem: OSError) -> str:
    """Return what happened at an address, as the rest of a sentence that begins with the address."""
    if isinstance(problem, TimeoutError):
        return "doesn't answer (a firewall may drop the packets, or the machine is off)"
    if isinstance(problem, ConnectionRefusedError):
        return "refuses the connection (a firewall rejects it, or nothing listens there)"
    if isinstance(problem, socket.gaierror):
        return "isn't a name that this machine knows"
    if problem.errno in _NO_ROUTE:
        return f"can't be reached from this machine ({problem.strerror})"
    if isinstance(problem, ENDED):
        return "ended the connection without an answer (another program may listen there)"
    return f"failed: {problem}"
