"""The midst of the star: takes the workers' connections in, and serves each lane in a thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from netdsl.distributed.transports.relay.connection import CONTROL, LANES, TIMEOUT, Connection
from netdsl.distributed.transports.relay.lane_server import LaneServer
from netdsl.distributed.transports.relay.meeting import Meeting
from netdsl.errors import PeerLostError


class Relay:
    """What the driver does for `size` workers. Whoever doesn't get on with an exchange for the timeout is lost."""

    def __init__(self, size: int, timeout: float = TIMEOUT) -> None:
        self._size, self._timeout = size, timeout
        self._changing = threading.Lock()
        self._wires: dict[tuple[int, int], Connection] = {}
        self._threads: list[threading.Thread] = []
        self._control = Meeting(size, self._lose)
        self._lost: PeerLostError | None = None

    def adopt(self, connection: socket.socket, rank: int, lane: int) -> None:
        """Take over a worker's connection for a lane, or the one for what has none.

        One that has no place here, or whose place is taken, is closed.
        """
        wire = Connection(connection, f"worker {rank}", self._timeout)
        with self._changing:
            free = rank in range(self._size) and lane in range(LANES + 1) and (lane, rank) not in self._wires
            if not free or self._lost is not None:
                wire.refuse(self._lost or PeerLostError(f"the driver has no place for worker {rank} in lane {lane}"))
                wire.close()
                return
            self._wires[lane, rank] = wire
            with suppress(PeerLostError):  # who serves it sees that
                wire.assure()
            self._begin(lane, rank)

    def close(self) -> None:
        """End all connections, so that no worker waits any more."""
        self._lose(PeerLostError("the driver is gone"))
        for wire in self._wires.values():
            wire.end()
        for thread in self._threads:
            thread.join()
        for wire in self._wires.values():
            wire.close()

    def _begin(self, lane: int, rank: int) -> None:
        """What can be served with one connection more: numbers of each worker, and a lane when it is complete."""
        if lane == CONTROL:
            self._start(partial(self._control.serve, rank, self._wires[lane, rank]))
            return
        wires = [self._wires[lane, each] for each in range(self._size) if (lane, each) in self._wires]
        if len(wires) == self._size:
            self._start(LaneServer(lane, wires, self._cause).serve)

    def _start(self, work: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=work, name="star", daemon=True))
        self._threads[-1].start()

    def _lose(self, problem: PeerLostError) -> PeerLostError:
        """Whoever waits for a worker anywhere waits no longer."""
        with self._changing:
            self._lost = self._lost or problem
            for wire in self._wires.values():
                wire.end(socket.SHUT_RD)  # what is said to workers still reaches them
        return self._lost

    def _cause(self, problem: PeerLostError) -> PeerLostError:
        """Why a connection has ended, if that is known better."""
        return self._lost or problem
