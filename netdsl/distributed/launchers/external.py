"""The external launcher, for workers that torchrun, SLURM or Kubernetes starts, one process for each worker.

Each worker reads its rank from the environment. The first worker also supervises, and the others meet it in the run's
folder, or at a port if the user has given all of them a secret.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import ClassVar, TypeVar

import msgspec

from netdsl.distributed.control.identity import SECRET
from netdsl.distributed.control.place import NetworkPlace, Ports
from netdsl.distributed.launcher import Workers, WorkerSpec
from netdsl.distributed.launchers.rendezvous import Rendezvous, reason_of
from netdsl.distributed.launchers.rendezvous_at_port import PortRendezvous
from netdsl.distributed.launchers.rendezvous_in_folder import FolderRendezvous
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import run_worker
from netdsl.distributed.supervisor import End
from netdsl.errors import DistributedError, PeerLostError
from netdsl.ranks import Ranks, ranks_in

Result = TypeVar("Result")

_GRACE = 10.0  # seconds for the first worker's own part to end


def worker_in(environment: Mapping[str, str]) -> Ranks:
    """Return the ranks of this process among the workers, as the environment describes them."""
    ranks = ranks_in(environment)
    if ranks is None:
        raise DistributedError(
            "RANK and WORLD_SIZE aren't set, so this process can't tell which worker it is; start the "
            "workers with a launcher that sets them, as in `torchrun --nproc-per-node 2`"
        )
    return ranks


def place_for(worker: Ranks, address: str | None = None, ports: Ports | None = None) -> NetworkPlace | None:
    """Return the place where workers reach the first one, or `None` if all are on one machine and none is named."""
    if not worker.on_several_machines and address is None and ports is None:
        return None
    return NetworkPlace.found(os.environ, address, ports)


def rendezvous_of_workers(folder: Path, address: str | None = None, ports: Ports | None = None) -> Rendezvous:
    """Return the rendezvous of the workers that were started: at a port if they have a secret, or else in a folder.

    The first worker's machine is at the address, if the user names one.
    """
    worker, secret = worker_in(os.environ), os.environ.get(SECRET)
    if secret is not None:
        return PortRendezvous(worker, secret, address, ports)
    return FolderRendezvous(folder, place_for(worker, address, ports))


class ExternalLauncher(Workers):
    """Finds workers instead of starting them. They wait for its spec at their rendezvous."""

    name: ClassVar[str] = "external"
    restarts: ClassVar[bool] = False
    regroups: ClassVar[bool] = True
    mpi: ClassVar[bool] = False  # whether the workers are ranks of mpiexec

    def __init__(self, worker: Ranks, rendezvous: Rendezvous) -> None:
        self._worker, self._rendezvous, self.place = worker, rendezvous, rendezvous.place
        self.published: Future[WorkerSpec] = Future()
        self.finished = Event()  # set when the first worker's own part has ended
        self.ended = dict[int, str]()  # how workers ended that may not be connected, by rank

    def prepare(self, folder: Path, run: Run, note: Callable[[str], object]) -> Run:
        """Return the run with a transport that suits the workers' devices and machines."""
        size = self._worker.size
        if run.fitting(size) != size:
            raise DistributedError(
                f"{folder}: the run has {run.workers} workers, but {size} were started; to continue with {size} "
                f"workers, add --workers {size}"
            )
        return run.with_transport(self._worker.local_size, mpi=self.mpi)

    def room(self, run: Run) -> int:
        """Return the number of workers that were started."""
        return self._worker.size

    def start(self, spec: WorkerSpec) -> ExternalLauncher:
        """Let the workers know the supervisor's address."""
        self._rendezvous.publish(spec)
        self.published.set_result(spec)
        return self

    def endings(self) -> Mapping[int, str]:
        """Return how workers ended that can't connect, by rank."""
        self.ended.update(self._rendezvous.problems(self._worker.size))
        return self.ended

    def close(self) -> None:
        """Let the first worker's own part end, since it still needs its supervisor."""
        self._rendezvous.close()
        self.finished.wait(_GRACE)


def train_as_worker(rendezvous: Rendezvous, supervise: Callable[[ExternalLauncher], End]) -> End | None:
    """Do this process's part of a run. In the first worker, `supervise` watches all workers from a thread."""
    return take_part(rendezvous, supervise, run_worker)


def take_part(
    rendezvous: Rendezvous, supervise: Callable[[ExternalLauncher], Result], work: Callable[[WorkerSpec], object]
) -> Result | None:
    """Do this process's part of some work. The first worker supervises as well."""
    worker = worker_in(os.environ)
    if worker.rank:
        spec = rendezvous.await_spec(worker.rank)
        work(msgspec.structs.replace(spec, rank=worker.rank, local_rank=worker.local_rank))
        return None
    with rendezvous.leading():
        return lead(ExternalLauncher(worker, rendezvous), supervise, work)


def lead(
    launcher: ExternalLauncher, supervise: Callable[[ExternalLauncher], Result], work: Callable[[WorkerSpec], object]
) -> Result:
    """Do the first worker's part, while a thread supervises all workers."""
    with ThreadPoolExecutor(1) as pool:
        supervision = pool.submit(supervise, launcher)
        supervision.add_done_callback(lambda _: launcher.published.cancel())
        with suppress(PeerLostError, CancelledError):  # the supervisor reports the cause
            try:
                work(launcher.published.result())
            except Exception as problem:
                launcher.ended[0] = f"ended: {reason_of(problem)}"
                raise
            finally:
                launcher.finished.set()
        return supervision.result()
