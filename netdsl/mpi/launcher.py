"""The launcher for ranks that a user's own mpiexec started, on any machines."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np

from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.launchers.external import ExternalLauncher, ExternalWorker, lead
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import run_worker
from netdsl.distributed.supervisor import End
from netdsl.mpi.connect import connect
from netdsl.mpi.library import world
from netdsl.mpi.mpiexec import check_number
from netdsl.mpi.spec import share, this_rank

Result = TypeVar("Result")

_GRACE = 30.0  # seconds for the first rank to say what happened and end all others


class RankLauncher(ExternalLauncher):
    """Finds the ranks; the spec goes to them over MPI."""

    name: ClassVar[str] = "mpi"
    regroups: ClassVar[bool] = False
    mpi: ClassVar[bool] = True

    def __init__(self, worker: ExternalWorker, processes: list[int]) -> None:
        super().__init__(worker)
        self._processes = processes

    def prepare(self, folder: Path, run: Run, note: Callable[[str], object]) -> Run:
        """The run with a transport that suits the workers' devices."""
        check_number(run)
        run = super().prepare(folder, run, note)
        numbers = ", ".join(map(str, self._processes))
        note(f"the workers are processes {numbers}, in the order of ranks; mpiexec names one that it loses by these")
        return run

    def start(self, spec: WorkerSpec) -> RankLauncher:
        """Hand the spec to this process's own part, which shares it."""
        self.published.set_result(spec)
        return self

    def close(self) -> None:
        """Let the first worker's own part end, which still needs its supervisor."""
        self.await_end()


def train_as_rank(supervise: Callable[[ExternalLauncher], End]) -> End | None:
    """Do this rank's part of a run; in the first one `supervise` watches all of them from a thread."""
    return take_part(supervise, partial(run_worker, connect=connect))


def take_part(supervise: Callable[[ExternalLauncher], Result], work: Callable[[WorkerSpec], object]) -> Result | None:
    """Do this rank's part of some work, for which it gets a spec; the first one supervises beside its own.

    If that fails the first rank ends all others when it ends itself, and until then they wait, so that nobody is ended
    by mpiexec before it was said why.
    """
    processes = np.zeros(world().size, np.int64)
    world().Allgather(np.array([os.getpid()]), processes)
    worker = this_rank()
    try:
        if worker.rank == 0:
            return lead(RankLauncher(worker, processes.tolist()), supervise, lambda spec: work(share(spec)))
        work(share(None))
    except BaseException:
        if worker.rank:
            time.sleep(_GRACE)
        else:
            atexit.register(world().Abort, 1)
        raise
    return None
