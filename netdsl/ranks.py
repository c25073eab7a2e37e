"""The rank of this process among several, read from the environment variables of the program that started them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from netdsl.errors import DistributedError

# Each row names the variables for the rank, the size, the rank on this machine, and the number of processes there.
_MPI_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # Intel's and MPICH's mpiexec
)
_OF_PROCESSES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),  # torchrun and Kubernetes' training operators
    *_MPI_VARIABLES,
)
_VARIABLES = (
    *_OF_PROCESSES,
    # Last, because a job that runs mpiexec has them too.
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
)


_STEP = "SLURM_STEP_ID"  # srun sets it
_TORCHRUN = "TORCHELASTIC_RUN_ID"
_JOB = (_TORCHRUN, "SLURM_JOB_ID", _STEP, "MASTER_PORT")  # the same for all workers of a job


class Ranks(NamedTuple):
    """The rank of a process among all processes, and among those of its machine."""

    rank: int
    size: int
    local_rank: int = 0
    local_size: int = 1

    @property
    def on_several_machines(self) -> bool:
        """Whether some of the processes are on other machines."""
        return self.size > self.local_size


def ranks_in(environment: Mapping[str, str]) -> Ranks | None:
    """Return the ranks that an environment describes, or `None` if it describes none."""
    for names in _VARIABLES:
        if environment.keys() >= set(names[:2]):
            texts = [environment.get(*pair) for pair in zip(names, "0101", strict=True)]
            try:
                return Ranks(*map(int, filter(None, texts)))
            except ValueError:
                where = ", ".join(f"{name}={environment[name]}" for name in names if name in environment)
                raise DistributedError(
                    f"{where}: ranks must be whole numbers; start the processes again with mpiexec, torchrun or srun"
                ) from None
    return None


def started_by_mpiexec(environment: Mapping[str, str]) -> bool:
    """Return whether the process belongs to an MPI job."""
    return any(environment.keys() >= set(names[:2]) for names in _MPI_VARIABLES)


def started_by_torchrun(environment: Mapping[str, str]) -> bool:
    """Return whether torchrun started the process."""
    return _TORCHRUN in environment


def job_in(environment: Mapping[str, str]) -> str:
    """Return a name that all workers of a job have in common. Other jobs usually have other names."""
    return "/".join(environment.get(name, "") for name in _JOB)


def starter_in(environment: Mapping[str, str], size: int) -> str:
    """Return the beginning of the command that starts this process's group again, or an empty string if it isn't
    known."""
    if started_by_mpiexec(environment):
        return f"mpiexec -n {size} "
    if started_by_torchrun(environment):
        return "torchrun [OPTIONS] --no-python -- "
    return f"srun --ntasks {size} " if _STEP in environment else ""


_TOGETHER = ContextVar("together", default=False)


@contextmanager
def working_together() -> Iterator[None]:
    """Mark that, until the context ends, this process does its part of work that all ranks share."""
    token = _TOGETHER.set(True)
    try:
        yield
    finally:
        _TOGETHER.reset(token)


def ranks_apart(environment: Mapping[str, str]) -> Ranks | None:
    """Return the ranks of a process whose group doesn't work together yet, or `None` for any other process.

    The script of a batch job has SLURM's variables too, although it is a single process. Only srun starts several, in a
    step.
    """
    if not any(environment.keys() >= set(names[:2]) for names in _OF_PROCESSES) and _STEP not in environment:
        return None
    ranks = ranks_in(environment)
    return None if ranks is None or ranks.size == 1 or _TOGETHER.get() else ranks


def share_of_cores(processes: int) -> int:
    """Return how many processor cores each of `processes` on this machine can use."""
    return max(1, (os.cpu_count() or 1) // processes)
