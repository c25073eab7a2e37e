"""Which of several processes this one is, by the environment variables of the program that started them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from netdsl.errors import DistributedError

# Each has the names for the rank, the size, the rank on this machine, and the number of processes there.
_MPI_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # MPICH's mpiexec, and Intel's
)
_OF_PROCESSES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),  # torchrun, and Kubernetes' training operators
    *_MPI_VARIABLES,
)
_VARIABLES = (
    *_OF_PROCESSES,
    (
        "SLURM_PROCID",
        "SLURM_NTASKS",
        "SLURM_LOCALID",
        "SLURM_NTASKS_PER_NODE",
    ),  # last: a job that runs mpiexec has them
)


_STEP = "SLURM_STEP_ID"  # which srun sets


class Ranks(NamedTuple):
    """A process's place among all, and among those of its machine."""

    rank: int
    size: int
    local_rank: int = 0
    local_size: int = 1


def ranks_in(environment: Mapping[str, str]) -> Ranks | None:
    """Return the ranks that an environment describes; None if it describes none."""
    for names in _VARIABLES:
        if environment.keys() >= set(names[:2]):
            texts = [environment.get(*pair) for pair in zip(names, "0101", strict=True)]
            try:
                return Ranks(*map(int, filter(None, texts)))
            except ValueError:
                where = ", ".join(f"{name}={environment[name]}" for name in names if name in environment)
                raise DistributedError(f"{where}: ranks must be whole numbers; start the processes again") from None
    return None


def started_by_mpiexec(environment: Mapping[str, str]) -> bool:
    """Return whether the processes are those of one MPI job."""
    return any(environment.keys() >= set(names[:2]) for names in _MPI_VARIABLES)


_TOGETHER = ContextVar("together", default=False)


@contextmanager
def working_together() -> Iterator[None]:
    """Inside, this process does its part of what all ranks do."""
    token = _TOGETHER.set(True)
    try:
        yield
    finally:
        _TOGETHER.reset(token)


def ranks_apart(environment: Mapping[str, str]) -> Ranks | None:
    """Return the place of a process that is one of several which don't work together yet; None of any other process.

    The script of a batch job has SLURM's variables too, but is one process: only srun starts several, in a step.
    """
    if not any(environment.keys() >= set(names[:2]) for names in _OF_PROCESSES) and _STEP not in environment:
        return None
    ranks = ranks_in(environment)
    return None if ranks is None or ranks.size == 1 or _TOGETHER.get() else ranks


def share_of_cores(processes: int) -> int:
    """Return the number of processor cores for each of this many processes of this machine."""
    return max(1, (os.cpu_count() or 1) // processes)
