"""The driver's side of the relay, which accepts workers' connections, adds up their buffers, and passes them on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from selectors import EVENT_READ, BaseSelector, DefaultSelector

import numpy as np
from numpy.typing import NDArray

from netdsl.distributed.control.encryption import Endpoint
from netdsl.distributed.transports.lanes import LANES
from netdsl.distributed.transports.relay.connection import (
    CHANGES,
    CONTROL,
    PIECE,
    REAL,
    SUMMED,
    TIMEOUT,
    Connection,
    RelayOperation,
    RelayRequest,
    bytes_of,
    lengths,
    pieces,
)
from netdsl.distributed.transports.weighted_mean import add_up, scales_of
from netdsl.errors import DistributedError, PeerLostError

_MEANS = (RelayOperation.MEAN, RelayOperation.REDUCE)
_FOR_ALL = (*_MEANS, RelayOperation.BROADCAST)
_FOR_TWO = (RelayOperation.SEND, RelayOperation.RECEIVE)


class Relay:
    """Adds up and passes on the buffers of `size` workers. A worker that stalls an exchange for the timeout is lost."""

    def __init__(self, size: int, timeout: float = TIMEOUT) -> None:
        self._size, self._timeout = size, timeout
        self._changing = threading.Lock()
        self._connections: dict[tuple[int, int], Connection] = {}
        self._threads: list[threading.Thread] = []
        self._meeting = Meeting(size, self._lose)
        self._lost: PeerLostError | None = None

    def adopt(self, endpoint: Endpoint, rank: int, lane: int) -> None:
        """Take over a worker's connection for a lane, or its connection for requests without a lane.

        Refuses a connection with an invalid rank or lane, and a second connection for the same place.
        """
        connection = Connection(endpoint, f"worker {rank}", self._timeout)
        with self._changing:
            free = rank in range(self._size) and lane in range(LANES + 1) and (lane, rank) not in self._connections
            if not free or self._lost is not None:
                no_place = PeerLostError(f"the driver has no place for worker {rank} in lane {lane}")
                connection.refuse(self._lost or no_place)
                connection.close()
                return
            self._connections[lane, rank] = connection
            with suppress(PeerLostError):  # the thread that serves the connection notices that
                connection.assure()
            self._serve_what_is_complete(lane, rank)

    def close(self) -> None:
        """End all connections, so that no worker keeps waiting."""
        self._lose(PeerLostError("the driver is gone"))
        for connection in self._connections.values():
            connection.end()
        for thread in self._threads:
            thread.join()
        for connection in self._connections.values():
            connection.close()

    def _serve_what_is_complete(self, lane: int, rank: int) -> None:
        """Start to serve a worker's connection without a lane, or a lane for which all connections exist."""
        if lane == CONTROL:
            self._start_thread(partial(self._meeting.serve, rank, self._connections[lane, rank]))
            return
        connections = [
            self._connections[key] for key in ((lane, other) for other in range(self._size)) if key in self._connections
        ]
        if len(connections) == self._size:
            self._start_thread(LaneServer(lane, connections, self._cause).serve)

    def _start_thread(self, work: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=work, name="relay", daemon=True))
        self._threads[-1].start()

    def _lose(self, problem: PeerLostError) -> PeerLostError:
        """End the waiting of all workers. The first reason counts."""
        with self._changing:
            self._lost = self._lost or problem
            for connection in self._connections.values():
                connection.end(socket.SHUT_RD)  # workers can still receive the reason
        return self._lost

    def _cause(self, problem: PeerLostError) -> PeerLostError:
        """Return the reason that a connection has ended, which is an earlier problem if there was one."""
        return self._lost or problem


class LaneServer:
    """Serves one operation of a lane after the other. Keeps only a few pieces in memory, however long buffers are."""

    def __init__(
        self, lane: int, connections: Sequence[Connection], cause: Callable[[PeerLostError], PeerLostError]
    ) -> None:
        self._lane, self._connections, self._cause, self._size = lane, connections, cause, len(connections)
        self._requests: dict[int, RelayRequest] = {}  # pending requests, by rank
        self._parts = np.empty((self._size, PIECE), np.uint8)
        self._mean = np.empty(PIECE, np.uint8)

    def serve(self) -> None:
        """Serve requests until a worker is lost or the requests don't match. All workers receive the reason."""
        try:
            with DefaultSelector() as selector:
                self._await_requests(selector, range(self._size))
                while True:
                    self._take_requests(selector)
                    while served := self._serve_some():
                        self._await_requests(selector, served)
        except PeerLostError as problem:
            self._refuse_all(self._cause(problem))
        except DistributedError as problem:
            self._refuse_all(problem)

    def _await_requests(self, selector: BaseSelector, ranks: Iterable[int]) -> None:
        for rank in ranks:
            self._requests.pop(rank, None)
            selector.register(self._connections[rank].socket, EVENT_READ, rank)

    def _take_requests(self, selector: BaseSelector) -> None:
        """Receive requests that have arrived. Their values stay on the network until all workers are ready."""
        for key, _ in selector.select():
            request = self._connections[key.data].request()
            if not self._is_possible(request):
                raise DistributedError(
                    f"lane {self._lane}: worker {key.data} requests a {request}, which isn't possible; start "
                    "all workers with the same version of netdsl"
                )
            self._requests[key.data] = request
            selector.unregister(key.fileobj)

    def _is_possible(self, request: RelayRequest) -> bool:
        summed = request.operation in _MEANS and request.kind in SUMMED
        known = summed or request.operation in (RelayOperation.BROADCAST, *_FOR_TWO)
        return known and request.other in range(self._size)

    def _serve_some(self) -> Sequence[int]:
        """Serve requests whose partners are ready too. Returns the ranks that were served."""
        together = {rank: request for rank, request in self._requests.items() if request.operation in _FOR_ALL}
        if len({request.common for request in together.values()}) > 1:
            raise self._mismatch(together)
        if len(together) == self._size:
            self._serve_all(together[0])
            return range(self._size)
        for rank, request in self._requests.items():
            if (taker := self._taker(rank)) is not None:
                self._pass_on_values(rank, [taker], request.count)
                return rank, taker
        if len(self._requests) == self._size:
            raise self._mismatch(self._requests)
        return ()

    def _serve_all(self, request: RelayRequest) -> None:
        if request.operation is RelayOperation.BROADCAST:
            takers = [rank for rank in range(self._size) if rank != request.other]
            self._pass_on_values(request.other, takers, request.count)
        else:
            self._serve_mean(request)

    def _serve_mean(self, request: RelayRequest) -> None:
        """Compute the mean piece by piece, for all workers or for one."""
        weights = [self._requests[rank].value for rank in range(self._size)]
        scales, kind = scales_of(weights, f"{request}, lane {self._lane}"), request.kind
        takers = self._connections if request.operation is RelayOperation.MEAN else [self._connections[request.other]]
        self._assure_all(self._connections)
        for length in lengths(request.count * kind.itemsize):
            parts, mean = self._parts[:, :length], self._mean[:length]
            for connection, part in zip(self._connections, parts, strict=True):
                connection.fill(part)
            add_up([part.view(kind) for part in parts], scales, mean.view(kind))
            for connection in takers:
                connection.give(mean)
        self._assure_all(self._connections)

    def _taker(self, rank: int) -> int | None:
        """Return the worker that receives what this one sends, if it has requested that."""
        sent = self._requests[rank]
        received = self._requests.get(sent.other)
        if (
            sent.operation is not RelayOperation.SEND
            or received is None
            or (received.operation, received.other) != (RelayOperation.RECEIVE, rank)
        ):
            return None
        if received.count != sent.count:
            raise self._mismatch({rank: sent, sent.other: received})
        return sent.other

    def _pass_on_values(self, source: int, takers: Iterable[int], count: int) -> None:
        """Pass on the bytes that one worker sends to others."""
        giver, others = self._connections[source], [self._connections[rank] for rank in takers]
        self._assure_all([giver, *others])
        for length in lengths(count):
            giver.fill(piece := self._mean[:length])
            for connection in others:
                connection.give(piece)
        self._assure_all([giver, *others])

    def _assure_all(self, connections: Iterable[Connection]) -> None:
        for connection in connections:
            connection.assure()

    def _mismatch(self, requests: Mapping[int, RelayRequest]) -> DistributedError:
        requests_text = ", ".join(f"worker {rank} requests a {request}" for rank, request in sorted(requests.items()))
        return DistributedError(
            f"lane {self._lane}: {requests_text}, but all workers must have the same net and request the same "
            "operations in the same order; start them with the same program"
        )

    def _refuse_all(self, problem: DistributedError) -> None:
        for connection in self._connections:
            connection.refuse(problem)


class Meeting:
    """The meeting point of all workers. A thread always reads from each connection, which detects its end at once."""

    def __init__(self, size: int, lose: Callable[[PeerLostError], PeerLostError]) -> None:
        self._size, self._lose = size, lose
        self._meeting = threading.Lock()
        self._here: dict[int, _Visit] = {}
        self._variables: list[Variable] = []
        self._problem: DistributedError | None = None  # ends the meeting

    def serve(self, rank: int, connection: Connection) -> None:
        """Serve one worker's requests until it is gone or a request fails."""
        try:
            while True:
                self._serve_request(rank, connection, connection.request())
        except PeerLostError as problem:
            self._end_meeting(self._lose(problem), connection)
        except DistributedError as problem:
            self._end_meeting(problem, connection)

    def _serve_request(self, rank: int, connection: Connection, request: RelayRequest) -> None:
        variable = self._variable_of(request)
        if variable is not None:
            variable.serve(request, connection)
        elif request.operation is RelayOperation.GATHER:
            numbers = np.empty(request.count, REAL)
            connection.fill(bytes_of(numbers))
            self._await_others(rank, _Visit(connection, request, numbers))
        elif request.operation is RelayOperation.VARIABLE and request.kind.kind == "f":
            self._await_others(rank, _Visit(connection, request, np.empty(0, REAL)))
        else:
            raise DistributedError(
                f"worker {rank} requests a {request}, which isn't possible; start all workers with the same version "
                "of netdsl"
            )

    def _variable_of(self, request: RelayRequest) -> Variable | None:
        """Return the variable of a request, or `None` if the request isn't about an existing variable."""
        if request.operation not in CHANGES or request.other not in range(len(self._variables)):
            return None
        variable = self._variables[request.other]
        return variable if variable.fits(request) else None

    def _await_others(self, rank: int, visit: _Visit) -> None:
        """Register a waiting worker. The last worker to arrive lets all continue."""
        with self._meeting:
            self._here[rank] = visit
            self._problem = self._problem or self._mismatch()
            if self._problem is None and len(self._here) == self._size:
                self._let_all_continue(visit.request)
            if self._problem is not None:
                self._send_away(self._problem)

    def _let_all_continue(self, request: RelayRequest) -> None:
        if request.operation is RelayOperation.VARIABLE:
            try:
                self._variables.append(Variable(request))
            except MemoryError:
                self._problem = DistributedError(
                    f"the driver has too little memory for a {request}; raise spark.driver.memory"
                )
                return
        rows = bytes_of(np.concatenate([self._here[rank].numbers for rank in range(self._size)]))
        for visit in self._here.values():
            with suppress(PeerLostError):  # the worker's own thread notices that
                visit.connection.assure()
                visit.connection.give(rows)
                visit.connection.assure()
        self._here.clear()

    def _mismatch(self) -> DistributedError | None:
        requests = {rank: str(visit.request) for rank, visit in sorted(self._here.items())}
        if len(set(requests.values())) == 1:
            return None
        requests_text = ", ".join(f"worker {rank} requests a {operation}" for rank, operation in requests.items())
        return DistributedError(
            f"{requests_text}, but all workers must have the same net and request the same operations in the "
            "same order; start them with the same program"
        )

    def _end_meeting(self, problem: DistributedError, *connections: Connection) -> None:
        with self._meeting:
            self._problem = self._problem or problem
            self._send_away(self._problem, *connections)

    def _send_away(self, problem: DistributedError, *connections: Connection) -> None:
        for connection in (*(visit.connection for visit in self._here.values()), *connections):
            connection.refuse(problem)
        self._here.clear()


@dataclass(frozen=True)
class _Visit:
    """A worker that waits for all others."""

    connection: Connection
    request: RelayRequest
    numbers: NDArray[np.float64]


class Variable:
    """The values of a shared variable, which the first worker sets before other workers use them."""

    def __init__(self, request: RelayRequest) -> None:
        self._kind, self._count = request.kind, request.count
        self._bytes = bytes_of(np.empty(request.count, request.kind))
        self._using = threading.Lock()

    def fits(self, request: RelayRequest) -> bool:
        """Return whether a request has this variable's type and number of values."""
        return (request.kind, request.count) == (self._kind, self._count)

    def serve(self, request: RelayRequest, connection: Connection) -> None:
        """Serve a worker's request while no other request uses the variable."""
        with self._using:
            connection.assure()
            if request.operation is RelayOperation.READ:
                connection.give(self._bytes)
            elif request.operation is RelayOperation.WRITE:
                for piece in pieces(self._bytes):
                    connection.fill(piece)
            else:
                self._add_change(connection)
        connection.assure()

    def _add_change(self, connection: Connection) -> None:
        buffer = np.empty(min(PIECE, self._bytes.size), np.uint8)
        for piece in pieces(self._bytes):
            change, values = buffer[: piece.size].view(self._kind), piece.view(self._kind)
            connection.fill(bytes_of(change))
            np.add(values, change, out=values)
