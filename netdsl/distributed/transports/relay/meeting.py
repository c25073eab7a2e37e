"""The driver's side of what belongs to no lane: gathered numbers, and shared variables."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netdsl.distributed.transports.relay.connection import Connection, bytes_of
from netdsl.distributed.transports.relay.request import CHANGES, REAL, RelayOperation, RelayRequest
from netdsl.distributed.transports.relay.variable import Variable
from netdsl.errors import DistributedError, PeerLostError


@dataclass(frozen=True)
class _Visit:
    """A worker that waits for all others."""

    connection: Connection
    request: RelayRequest
    numbers: NDArray[np.float64]


class Meeting:
    """Where all workers meet. A thread reads from each connection at any time, so that its end is seen at once."""

    def __init__(self, size: int, lose: Callable[[PeerLostError], PeerLostError]) -> None:
        self._size, self._lose = size, lose
        self._meeting = threading.Lock()
        self._here: dict[int, _Visit] = {}
        self._variables: list[Variable] = []
        self._problem: DistributedError | None = None  # after which nobody meets any more

    def serve(self, rank: int, connection: Connection) -> None:
        """Do what one worker asks for, until it is gone or is told why that can't be done."""
        try:
            while True:
                self._grant(rank, connection, connection.request())
        except PeerLostError as problem:
            self._end(self._lose(problem), connection)
        except DistributedError as problem:
            self._end(problem, connection)

    def _grant(self, rank: int, connection: Connection, request: RelayRequest) -> None:
        variable = self._variable(request)
        if variable is not None:
            variable.serve(request, connection)
        elif request.operation is RelayOperation.GATHER:
            numbers = np.empty(request.count, REAL)
            connection.fill(bytes_of(numbers))
            self._meet(rank, _Visit(connection, request, numbers))
        elif request.operation is RelayOperation.VARIABLE and request.kind.kind == "f":
            self._meet(rank, _Visit(connection, request, np.empty(0, REAL)))
        else:
            raise DistributedError(f"worker {rank} asks for a {request}, which can't be")

    def _variable(self, request: RelayRequest) -> Variable | None:
        """The variable that a request is about, if it is about one that exists."""
        if request.operation not in CHANGES or request.other not in range(len(self._variables)):
            return None
        variable = self._variables[request.other]
        return variable if variable.fits(request) else None

    def _meet(self, rank: int, visit: _Visit) -> None:
        """Wait for the others; whoever comes last lets everybody go on."""
        with self._meeting:
            self._here[rank] = visit
            self._problem = self._problem or self._mismatch()
            if self._problem is None and len(self._here) == self._size:
                self._go_on(visit.request)
            if self._problem is not None:
                self._send_away(self._problem)

    def _go_on(self, request: RelayRequest) -> None:
        if request.operation is RelayOperation.VARIABLE:
            try:
                self._variables.append(Variable(request))
            except MemoryError:
                self._problem = DistributedError(f"the driver has no memory for a {request}; give it more")
                return
        rows = bytes_of(np.concatenate([self._here[rank].numbers for rank in range(self._size)]))
        for visit in self._here.values():
            with suppress(PeerLostError):  # its own thread sees that
                visit.connection.assure()
                visit.connection.give(rows)
                visit.connection.assure()
        self._here.clear()

    def _mismatch(self) -> DistributedError | None:
        requests = {rank: str(visit.request) for rank, visit in sorted(self._here.items())}
        if len(set(requests.values())) == 1:
            return None
        said = ", ".join(f"worker {rank} asks for a {operation}" for rank, operation in requests.items())
        return DistributedError(f"{said}; all must have the same net and ask for the same in the same order")

    def _end(self, problem: DistributedError, *connections: Connection) -> None:
        with self._meeting:
            self._problem = self._problem or problem
            self._send_away(self._problem, *connections)

    def _send_away(self, problem: DistributedError, *connections: Connection) -> None:
        for connection in (*(visit.connection for visit in self._here.values()), *connections):
            connection.refuse(problem)
        self._here.clear()
