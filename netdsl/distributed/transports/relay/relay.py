"""The relay at the driver: takes the workers' connections in, and serves each lane in a thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from netdsl.distributed.transports.lane import LANES
from netdsl.distributed.transports.relay.connection import CONTROL, TIMEOUT, Connection
from netdsl.distributed.transports.relay.lane_server import LaneServer
from netdsl.distributed.transports.relay.meeting import Meeting
from netdsl.errors import PeerLostError


class Relay:
    """Adds up and passes on what `size` workers send. Whoever stalls an exchange for the timeout is lost."""

    def __init__(self, size: int, timeout: float = TIMEOUT) -> None:
        self._size, self._timeout = size, timeout
        self._changing = threading.Lock()
        self._connections: dict[tuple[int, int], Connection] = {}
        self._threads: list[threading.Thread] = []
        self._meeting = Meeting(size, self._lose)
        self._lost: PeerLostError | None = None

    def adopt(self, endpoint: socket.socket, rank: int, lane: int) -> None:
        """Take over a worker's connection for a lane, or the one for what has none.

        One that has no place here, or whose place is taken, is closed.
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
            with suppress(PeerLostError):  # who serves it sees that
                connection.assure()
            self._begin(lane, rank)

    def close(self) -> None:
        """End all connections, so that no worker waits any more."""
        self._lose(PeerLostError("the driver is gone"))
        for connection in self._connections.values():
            connection.end()
        for thread in self._threads:
            thread.join()
        for connection in self._connections.values():
            connection.close()

    def _begin(self, lane: int, rank: int) -> None:
        """Serve what one more connection makes possible: a worker's numbers, or a lane that is complete."""
        if lane == CONTROL:
            self._start(partial(self._meeting.serve, rank, self._connections[lane, rank]))
            return
        connections = [
            self._connections[key] for key in ((lane, other) for other in range(self._size)) if key in self._connections
        ]
        if len(connections) == self._size:
            self._start(LaneServer(lane, connections, self._cause).serve)

    def _start(self, work: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=work, name="relay", daemon=True))
        self._threads[-1].start()

    def _lose(self, problem: PeerLostError) -> PeerLostError:
        """End the waiting of everybody; the first reason counts."""
        with self._changing:
            self._lost = self._lost or problem
            for connection in self._connections.values():
                connection.end(socket.SHUT_RD)  # what is said to workers still reaches them
        return self._lost

    def _cause(self, problem: PeerLostError) -> PeerLostError:
        """The reason that a connection has ended: the first one, if there was another before."""
        return self._lost or problem
