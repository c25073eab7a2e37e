"""The driver's side of what has no lane: numbers of all workers, and the variables that they share."""

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

    wire: Connection
    request: RelayRequest
    numbers: NDArray[np.float64]


class Meeting:
    """Each worker's connection has a thread that reads from it at any time, so that its end is seen at once."""

    def __init__(self, size: int, lose: Callable[[PeerLostError], PeerLostError]) -> None:
        self._size, self._lose = size, lose
        self._meeting = threading.Lock()
        self._here: dict[int, _Visit] = {}
        self._variables: list[Variable] = []
        self._problem: DistributedError | None = None  # after which nobody meets any more

    def serve(self, rank: int, wire: Connection) -> None:
        """Do what one worker asks for, until it is gone or told why that can't be done."""
        try:
            while True:
                self._grant(rank, wire, wire.request())
        except PeerLostError as problem:
            self._end(self._lose(problem), wire)
        except DistributedError as problem:
            self._end(problem, wire)

    def _grant(self, rank: int, wire: Connection, request: RelayRequest) -> None:
        variable = self._variable(request)
        if variable is not None:
            variable.serve(request, wire)
        elif request.wish is RelayOperation.GATHER:
            numbers = np.empty(request.count, REAL)
            wire.fill(bytes_of(numbers))
            self._meet(rank, _Visit(wire, request, numbers))
        elif request.wish is RelayOperation.CENTRE and request.kind.kind == "f":
            self._meet(rank, _Visit(wire, request, np.empty(0, REAL)))
        else:
            raise DistributedError(f"worker {rank} asks for a {request}, which can't be")

    def _variable(self, request: RelayRequest) -> Variable | None:
        """The one that a worker goes to, if it does and there is such a one."""
        if request.wish not in CHANGES or request.other not in range(len(self._variables)):
            return None
        found = self._variables[request.other]
        return found if found.fits(request) else None

    def _meet(self, rank: int, visit: _Visit) -> None:
        """Whoever comes last lets all go on."""
        with self._meeting:
            self._here[rank] = visit
            self._problem = self._problem or self._mismatch()
            if self._problem is None and len(self._here) == self._size:
                self._go_on(visit.request)
            if self._problem is not None:
                self._send_away(self._problem)

    def _go_on(self, request: RelayRequest) -> None:
        if request.wish is RelayOperation.CENTRE:
            try:
                self._variables.append(Variable(request))
            except MemoryError:
                self._problem = DistributedError(f"the driver has no memory for a {request}; give it more")
                return
        rows = bytes_of(np.concatenate([self._here[rank].numbers for rank in range(self._size)]))
        for visit in self._here.values():
            with suppress(PeerLostError):  # its own thread sees that
                visit.wire.assure()
                visit.wire.give(rows)
                visit.wire.assure()
        self._here.clear()

    def _mismatch(self) -> DistributedError | None:
        wishes = {rank: str(visit.request) for rank, visit in sorted(self._here.items())}
        if len(set(wishes.values())) == 1:
            return None
        said = ", ".join(f"worker {rank} asks for a {wish}" for rank, wish in wishes.items())
        return DistributedError(f"{said}; all must have the same net and ask for the same in the same order")

    def _end(self, problem: DistributedError, *wires: Connection) -> None:
        with self._meeting:
            self._problem = self._problem or problem
            self._send_away(self._problem, *wires)

    def _send_away(self, problem: DistributedError, *wires: Connection) -> None:
        for wire in (*(visit.wire for visit in self._here.values()), *wires):
            wire.refuse(problem)
        self._here.clear()
