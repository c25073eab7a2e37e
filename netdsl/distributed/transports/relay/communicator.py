"""A communicator for workers that reach the driver only."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from torch import Tensor

from netdsl.distributed.traffic import Traffic
from netdsl.distributed.transports.lane import Lane, Operation, check
from netdsl.distributed.transports.relay.connection import CONTROL, LANES, TIMEOUT, Bytes, bytes_of
from netdsl.distributed.transports.relay.request import NUMBERS, RAW, REAL, RelayOperation, RelayRequest
from netdsl.distributed.transports.relay.shared_variable import NOTHING, RelayVariable
from netdsl.distributed.transports.relay.worker_link import WorkerLink
from netdsl.distributed.transports.staging import Staged, kind_of
from netdsl.errors import DistributedError, PeerLostError


class RelayCommunicator:
    """One of `size` workers. `connect` gives a connection that the driver's star adopts for a lane.

    Sums are in the order of ranks, the same bits as of workers that share memory.
    """

    def __init__(self, connect: Callable[[int], socket.socket], rank: int, size: int, timeout: float = TIMEOUT) -> None:
        self.rank, self.size, self.traffic = rank, size, Traffic()
        self._counting = threading.Lock()
        self._centres = 0
        self._lanes = [Lane(number) for number in range(LANES)]
        self._lines: dict[int, WorkerLink] = {}
        try:
            for number in (CONTROL, *range(LANES)):
                self._lines[number] = _line(connect, number, timeout)
                self._lines[number].be_welcome()
        except BaseException:
            self.close()
            raise

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Operation:
        """Everybody's weighted mean."""
        return self._add(lane, RelayRequest(RelayOperation.MEAN, kind_of(buffer), buffer.numel(), 0, weight), buffer)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Operation:
        """The same for one worker only."""
        request = RelayRequest(RelayOperation.REDUCE, kind_of(buffer), buffer.numel(), root, weight)
        return self._add(lane, request, buffer, takes=self.rank == root)

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Operation:
        """Everybody's buffer becomes the root's."""
        request, here = RelayRequest(RelayOperation.BROADCAST, RAW, buffer.nbytes, root), self.rank == root
        return self._add(lane, request, buffer, sends=here, takes=not here)

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Operation:
        """A buffer for another worker. It is over when the driver has passed it on."""
        return self._add(lane, RelayRequest(RelayOperation.SEND, RAW, buffer.nbytes, to), buffer, takes=False)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Operation:
        """What another worker sends."""
        return self._add(lane, RelayRequest(RelayOperation.RECEIVE, RAW, buffer.nbytes, source), buffer, sends=False)

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """A few numbers of everybody, as many at once as the driver takes."""
        found: list[list[float]] = [[] for _ in range(self.size)]
        for start in range(0, max(len(values), 1), NUMBERS):
            own = np.array(values[start : start + NUMBERS], REAL)
            rows = np.empty(self.size * own.size, REAL)
            self._ask(RelayRequest(RelayOperation.GATHER, REAL, own.size), bytes_of(own), bytes_of(rows))
            for row, more in zip(found, rows.reshape(self.size, -1).tolist(), strict=True):
                row += more
        return found

    def barrier(self) -> None:
        """Wait for all others."""
        self.gather([])

    def centre(self, buffer: Tensor) -> RelayVariable:
        """A variable at the driver, which the first worker fills."""
        if not buffer.is_floating_point():
            raise DistributedError(f"a centre of {buffer.dtype} values; give float32 or float64")
        self._ask(RelayRequest(RelayOperation.CENTRE, kind_of(buffer), buffer.numel()), NOTHING, NOTHING)
        centre = RelayVariable(self._ask, self._centres)
        self._centres += 1
        if self.rank == 0:
            centre.write(buffer)
        self.barrier()
        return centre

    def alive(self) -> None:
        """The driver knows whether others are there by their connections and its timeout."""

    def close(self) -> None:
        """Let go of all connections; what is under way fails."""
        for line in self._lines.values():
            line.end()
        for lane in self._lanes:
            last = lane.add(_rest)
            lane.close()
            with suppress(DistributedError):
                last.wait()
        for line in self._lines.values():
            line.close()

    def _add(
        self, number: int, request: RelayRequest, buffer: Tensor, *, sends: bool = True, takes: bool = True
    ) -> Operation:
        check(number, LANES)
        staged = Staged(buffer)

        def work() -> None:
            values = staged.fetch()
            sent, taken = (values if each else NOTHING for each in (sends, takes))
            self._count(self._lines[number].exchange(request, sent, taken, f"{request}, lane {number}"))
            if takes:
                staged.put_back()

        return self._lanes[number].add(work)

    def _ask(self, request: RelayRequest, sent: Bytes, taken: Bytes) -> None:
        self._count(self._lines[CONTROL].exchange(request, sent, taken, str(request)))

    def _count(self, cost: Traffic) -> None:
        with self._counting:  # lanes finish at once
            self.traffic.waited += cost.waited
            self.traffic.moved += cost.moved
            self.traffic.bytes += cost.bytes


def _line(connect: Callable[[int], socket.socket], number: int, timeout: float) -> WorkerLink:
    try:
        return WorkerLink(connect(number), number, timeout)
    except OSError as problem:
        raise PeerLostError(f"the driver can't be reached: {problem}") from None


def _rest() -> None:
    """The end of a lane, after all that was asked for."""
