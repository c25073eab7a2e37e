"""The ranks of one MPI communicator, which wait for each other so that an interruption ends the waiting."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from netdsl.distributed.communicator import Traffic
from netdsl.distributed.interruption import Interruption, wait_until_none
from netdsl.distributed.transports.weighted_mean import Array
from netdsl.errors import PeerLostError
from netdsl.mpi.library import mpi, mpi_errors

PIECE = 1 << 22  # bytes; larger pieces leave the cache before all ranks have had them


def pieces(values: Array) -> Iterator[Array]:
    """The pieces of a buffer."""
    length = PIECE // values.itemsize
    for start in range(0, values.size, length):
        yield values[start : start + length]


class MpiGroup:
    """A duplicate of an MPI communicator, so that what goes on in it doesn't mix with anything else.

    MPI's own waiting keeps a processor busy and can't be interrupted, so requests are tested instead.
    """

    def __init__(self, communicator: Any, traffic: Traffic, interruption: Interruption) -> None:
        self.mpi = mpi()
        self.communicator = communicator.Dup()
        self.rank, self.size = self.communicator.rank, self.communicator.size
        self.traffic, self.interruption = traffic, interruption
        self._others = [rank for rank in range(self.size) if rank != self.rank]

    def is_on_one_machine(self) -> bool:
        """Whether all ranks are; all of them must ask."""
        node = self.communicator.Split_type(self.mpi.COMM_TYPE_SHARED)
        alone: bool = node.size == self.size
        node.Free()
        return alone

    def gather(self, values: Sequence[float], doing: str) -> list[list[float]]:
        """Everybody's numbers, of which all give as many. Who comes first sleeps until the others are there."""
        numbers = np.array(values, np.float64)
        rows = np.empty((self.size, numbers.size))
        self._await_others(self.communicator.Iallgather, doing, numbers, rows)
        self.traffic.add(count=rows.nbytes)
        everybody: list[list[float]] = rows.tolist()
        return everybody

    def barrier(self, doing: str) -> None:
        """Wait until everybody is there."""
        self._await_others(self.communicator.Ibarrier, doing)

    def finish(self, begun: Sequence[Any], doing: str) -> None:
        """Wait for what has begun and everybody has come to, so that it gets on as fast as it can."""
        with mpi_errors(doing):
            while not self.mpi.Request.Testall(begun):
                if self.interruption.reason is not None:
                    raise PeerLostError(f"{doing}: {self.interruption.reason}")
                os.sched_yield()

    def broadcast(self, values: Array, root: int, doing: str) -> None:
        """Replace everybody's bytes by the root's."""
        self.finish([self.communicator.Ibcast(piece, root) for piece in pieces(values)], doing)
        self.traffic.add(count=values.nbytes)

    def begin_send(self, values: Array, to: int) -> Any:
        """Begin to send values to another rank."""
        return self.communicator.Isend(values, to)

    def begin_receive(self, values: Array, source: int) -> Any:
        """Begin to fill an array with what another rank sends."""
        return self.communicator.Irecv(values, source)

    def send(self, values: Array, to: int, doing: str) -> None:
        """Send bytes to another rank."""
        self.finish([self.begin_send(piece, to) for piece in pieces(values)], doing)
        self.traffic.add(count=values.nbytes)

    def receive(self, values: Array, source: int, doing: str) -> None:
        """Fill an array with the bytes that another rank sends."""
        self.finish([self.begin_receive(piece, source) for piece in pieces(values)], doing)
        self.traffic.add(count=values.nbytes)

    def _await_others(self, begin: Callable[..., Any], doing: str, *buffers: Array) -> None:
        with mpi_errors(doing):
            request = begin(*buffers)
            waited = wait_until_none(lambda: [] if request.Test() else self._others, self.interruption, doing)
        self.traffic.add(waited=waited)

    def close(self) -> None:
        """Free the duplicate, together with all others; who was interrupted can't wait for them."""
        if self.interruption.reason is None:
            self.communicator.Free()
