"""The backend whose workers are ranks of MPI."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from netdsl.distributed.control.place import Ports
from netdsl.errors import DistributedError
from netdsl.ranks import Ranks, share_of_cores, started_by_mpiexec
from netdsl.training.backends import MPI, Backend, refuse_several_machines

if TYPE_CHECKING:  # naming a backend doesn't need torch
    from netdsl.distributed.launcher import Launcher
    from netdsl.distributed.run import Run
    from netdsl.distributed.run_log import Told
    from netdsl.distributed.supervisor import End
    from netdsl.solver.events import Action


class MpiBackend(Backend):
    """The backend whose workers are ranks of MPI.

    If mpiexec started this process, the process is one of the ranks. Otherwise it starts mpiexec itself, for ranks on
    this machine. For ranks on several machines, `address` is an address or a name of the first rank's machine that the
    others reach, and `port` a port or a range, such as 5000-5010. By default they are found.
    """

    name = MPI

    def __init__(self, address: str | None = None, port: Ports | str | None = None) -> None:
        self._address, self._ports = address, Ports.parse(port) if isinstance(port, str) else port

    @property
    def started(self) -> int | None:
        """The number of ranks, if mpiexec started this process."""
        return None if self.rank is None else self.rank.size

    @property
    def supervises(self) -> bool:
        """Whether this process supervises the workers and receives their events."""
        return self.rank is None or self.rank.rank == 0

    @cached_property
    def rank(self) -> Ranks | None:
        """The worker that is this process, or `None` if mpiexec didn't start it."""
        if not started_by_mpiexec(os.environ):
            return None
        from netdsl.mpi.launcher import this_rank

        return this_rank()

    def workers_here(self, workers: int | None) -> int | None:
        """Return the number of workers on this machine, which is all of them if this process starts them."""
        return workers if self.rank is None else self.rank.local_size

    def cores(self, workers: int) -> int:
        """Return a worker's share of the cores of its machine."""
        return share_of_cores(workers if self.rank is None else self.rank.local_size)

    def check(self, run: Run) -> None:
        """Raise a `DistributedError` if the run's number of workers differs from the number of ranks that mpiexec
        started."""
        if self.rank is not None and run.workers != self.rank.size:
            raise DistributedError(
                f"mpiexec started {self.rank.size} ranks, but the run has {run.workers} workers; leave the "
                "number of workers out"
            )

    @contextmanager
    def leading(self, folder: Path) -> Iterator[None]:
        """Do work inside the context for which the other workers' processes wait. If it fails, they end too."""
        try:
            yield
        except BaseException:
            if self.rank is not None:
                from netdsl.mpi.ending import end_all_ranks_at_exit

                end_all_ranks_at_exit()
            raise

    @contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """Create a folder in the first rank, and remove it when all ranks have left the context."""
        if self.rank is None:
            with super().temporary_folder() as folder:
                yield folder
            return
        refuse_several_machines(self.rank)
        from netdsl.mpi.launcher import share_text
        from netdsl.mpi.library import world

        with TemporaryDirectory(prefix="netdsl-") if self.supervises else nullcontext() as own:
            yield Path(share_text(own))
            world().Barrier()

    def train(
        self, folder: Path, run: Run | None, told: Callable[[Told], object], requested: Callable[[], Action]
    ) -> End | None:
        """Train the run in a folder, or do this rank's part of it."""
        if self.rank is None:
            return super().train(folder, run, told, requested)
        from netdsl.distributed.supervisor import train
        from netdsl.mpi.launcher import train_as_rank

        return train_as_rank(
            lambda launcher: train(folder, launcher, run=run, told=told, requested=requested),
            self._address,
            self._ports,
        )

    def launcher(self) -> Launcher:
        """Return the launcher that starts mpiexec."""
        from netdsl.mpi.launcher import MpiexecLauncher

        return MpiexecLauncher()
