"""The MPI library, which starts when it is first asked for, and then takes this process for one of its ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from caffe_proto.errors import import_extra
from netdsl.errors import DistributedError, PeerLostError

_MPICH_MEMORY = re.compile(r"(/dev/shm/mpich_shm_\S+)$", re.MULTILINE)


def mpi() -> ModuleType:
    """mpi4py's own module, with a library that several threads may call at once."""
    import_extra("mpi4py", "mpi", "MPI needs mpi4py and an MPI library")
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        raise DistributedError(f"mpi4py finds no MPI library: {problem}; install one, or the extra mpi") from None
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise DistributedError(
            f"{MPI.Get_library_version().splitlines()[0]}: only one thread at a time may call this library; build or "
            "load one with MPI_THREAD_MULTIPLE"
        )
    return MPI


def world() -> Any:
    """The communicator of all ranks that mpiexec started."""
    return mpi().COMM_WORLD


def forget_shared_memory() -> None:
    """Remove the names of the memory that the ranks of a machine share, which MPICH would leave if they were killed.

    All ranks must call this once they have opened it.
    """
    world().Barrier()
    with suppress(OSError):  # not every system tells what is mapped, and other ranks remove it as well
        for name in set(_MPICH_MEMORY.findall(Path("/proc/self/maps").read_text())):
            Path(name).unlink()


@contextmanager
def mpi_errors(doing: str) -> Iterator[None]:
    """Turn MPI's errors into a PeerLostError."""
    try:
        yield
    except mpi().Exception as problem:
        raise PeerLostError(f"{doing}: MPI says: {problem}") from None
