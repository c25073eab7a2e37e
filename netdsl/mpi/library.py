"""The MPI library, which starts when it is first used, and groups of its ranks whose waiting can be interrupted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from caffe_proto.errors import import_extra
from netdsl.distributed.communicator import Traffic
from netdsl.distributed.interruption import Interruption, wait_until_none
from netdsl.distributed.transports.weighted_mean import Array
from netdsl.errors import DistributedError, PeerLostError

_MPICH_MEMORY = re.compile(r"(/dev/shm/mpich_shm_\S+)$", re.MULTILINE)
PIECE = 1 << 22  # bytes; larger pieces leave the cache before all ranks have used them


def mpi() -> ModuleType:
    """Return mpi4py's own module, with a library that several threads may call at once."""
    import_extra("mpi4py", "mpi", "MPI needs mpi4py and an MPI library")
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        raise DistributedError(
            f"mpi4py finds no MPI library: {problem}; run pip install 'netdsl[mpi]', or load your cluster's MPI"
        ) from None
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise DistributedError(
            f"{MPI.Get_library_version().splitlines()[0]}: the library allows calls from only one thread at a "
            "time; load an MPI that was built with MPI_THREAD_MULTIPLE, or run pip install 'netdsl[mpi]'"
        )
    return MPI


def world() -> Any:
    """Return the communicator of all ranks that mpiexec started."""
    return mpi().COMM_WORLD


def forget_shared_memory() -> None:
    """Remove the names of the memory that the ranks of a machine share. MPICH would leave them behind if the ranks were
    killed.

    All ranks must call this after they have opened the memory.
    """
    world().Barrier()
    with suppress(OSError):  # some systems don't list mapped files, and other ranks remove them as well
        for name in set(_MPICH_MEMORY.findall(Path("/proc/self/maps").read_text())):
            Path(name).unlink()


@contextmanager
def mpi_errors(doing: str) -> Iterator[None]:
    """Convert MPI's errors to a `PeerLostError`."""
    try:
        yield
    except mpi().Exception as problem:
        raise PeerLostError(f"{doing}: MPI reports: {problem}") from None


def pieces(values: Array) -> Iterator[Array]:
    """Yield the pieces of a buffer."""
    length = PIECE // values.itemsize
    for start in range(0, values.size, length):
        yield values[start : start + length]


class MpiGroup:
    """A duplicate of an MPI communicator, which keeps its messages separate from all others.

    MPI's own waiting keeps a CPU busy and can't be interrupted. This class tests requests instead.
    """

    def __init__(self, communicator: Any, traffic: Traffic, interruption: Interruption) -> None:
        self.mpi = mpi()
        self.communicator = communicator.Dup()
        self.rank, self.size = self.communicator.rank, self.communicator.size
        self.traffic, self.interruption = traffic, interruption
        self._others = [rank for rank in range(self.size) if rank != self.rank]

    def is_on_one_machine(self) -> bool:
        """Return whether all ranks are on one machine. All ranks must call this."""
        node = self.communicator.Split_type(self.mpi.COMM_TYPE_SHARED)
        alone: bool = node.size == self.size
        node.Free()
        return alone

    def gather(self, values: Sequence[float], doing: str) -> list[list[float]]:
        """Return the numbers of all ranks, which must pass equally many. Ranks that arrive early sleep until the others
        arrive."""
        numbers = np.array(values, np.float64)
        rows = np.empty((self.size, numbers.size))
        self._await_others(self.communicator.Iallgather, doing, numbers, rows)
        self.traffic.add(count=rows.nbytes)
        rows_of_ranks: list[list[float]] = rows.tolist()
        return rows_of_ranks

    def barrier(self, doing: str) -> None:
        """Wait until all ranks have called this."""
        self._await_others(self.communicator.Ibarrier, doing)

    def finish(self, begun: Sequence[Any], doing: str) -> None:
        """Wait for exchanges that all ranks have begun. Doesn't sleep, so that they complete as fast as possible."""
        with mpi_errors(doing):
            while not self.mpi.Request.Testall(begun):
                if self.interruption.reason is not None:
                    raise PeerLostError(f"{doing}: {self.interruption.reason}")
                os.sched_yield()

    def broadcast(self, values: Array, root: int, doing: str) -> None:
        """Replace every rank's bytes with the root's."""
        self.finish([self.communicator.Ibcast(piece, root) for piece in pieces(values)], doing)
        self.traffic.add(count=values.nbytes)

    def begin_send(self, values: Array, to: int, stage: int = 0) -> Any:
        """Begin to send values to another rank."""
        return self.communicator.Isend(values, to, stage)

    def begin_receive(self, values: Array, source: int, stage: int = 0) -> Any:
        """Begin to fill an array with the values that another rank sends."""
        return self.communicator.Irecv(values, source, stage)

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
        """Free the duplicate. All ranks must do so together, so an interrupted rank doesn't."""
        if self.interruption.reason is None:
            self.communicator.Free()
