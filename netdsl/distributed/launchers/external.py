"""The external launcher, for workers that torchrun, SLURM or Kubernetes starts, one process for each worker.

Each worker reads its rank from the environment. The first worker also supervises, and publishes its address in the
run's folder.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import ClassVar, NamedTuple, TypeVar

import msgspec

from caffe_proto.storage import atomic_path
from netdsl.distributed.control.heartbeat import START
from netdsl.distributed.launcher import Workers, WorkerSpec
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import run_worker
from netdsl.distributed.supervisor import End
from netdsl.errors import DistributedError, PeerLostError
from netdsl.ranks import Ranks, ranks_in

Result = TypeVar("Result")

_SPEC = "control.json"  # in the run's folder; contains a secret, so only the user may read it
_NAP, _GRACE = 0.1, 10.0  # seconds between two checks for the first worker; seconds for its own part to end


class ExternalWorker(NamedTuple):
    """The identity of this process among the workers, as the environment describes it."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    host: str  # the address at which others reach the first worker; only used by that worker

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> ExternalWorker:
        """Return the worker that an environment describes."""
        ranks = ranks_in(environment)
        if ranks is None:
            raise DistributedError(
                "RANK and WORLD_SIZE aren't set, so this process can't tell which worker it is; start the "
                "workers with a launcher that sets them, as in `torchrun --nproc-per-node 2`"
            )
        return cls.of_ranks(ranks, environment.get("MASTER_ADDR", ""))

    @classmethod
    def of_ranks(cls, ranks: Ranks, host: str = "") -> ExternalWorker:
        """Return the worker with these ranks. By default its host is the name of this machine."""
        address = socket.gethostname() if ranks.size > ranks.local_size else "127.0.0.1"
        return cls(*ranks, host or address)


class ExternalLauncher(Workers):
    """Finds workers instead of starting them. It publishes the spec that they wait for."""

    name: ClassVar[str] = "external"
    restarts: ClassVar[bool] = False
    regroups: ClassVar[bool] = True
    mpi: ClassVar[bool] = False  # whether the workers are ranks of mpiexec
    port = 0

    def __init__(self, worker: ExternalWorker) -> None:
        self._worker = worker
        self.host: str | None = worker.host
        self.bound: str | None = worker.host
        self.published: Future[WorkerSpec] = Future()
        self.finished = Event()  # set when the first worker's own part has ended

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
        """Publish the supervisor's address to the workers."""
        self._file = Path(spec.run, _SPEC)
        with atomic_path(self._file, mode=0o600) as temporary:
            temporary.write_text(spec.text())
        self.published.set_result(spec)
        return self

    def close(self) -> None:
        """Let the first worker's own part end, since it still needs its supervisor."""
        self._file.unlink(missing_ok=True)
        self.await_end()

    def await_end(self) -> None:
        """Wait for the first worker's own part to end, but only for a limited time."""
        self.finished.wait(_GRACE)


def train_as_worker(folder: Path, supervise: Callable[[ExternalLauncher], End]) -> End | None:
    """Do this process's part of a run. In the first worker, `supervise` watches all workers from a thread."""
    return take_part(folder, supervise, run_worker)


def take_part(
    folder: Path, supervise: Callable[[ExternalLauncher], Result], work: Callable[[WorkerSpec], object]
) -> Result | None:
    """Do this process's part of the work that begins in a folder. The first worker supervises as well."""
    worker = ExternalWorker.of(os.environ)
    if worker.rank:
        spec = _await_spec(folder)
        work(msgspec.structs.replace(spec, rank=worker.rank, local_rank=worker.local_rank))
        return None
    return lead(ExternalLauncher(worker), supervise, work)


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
            finally:
                launcher.finished.set()
        return supervision.result()


def _await_spec(folder: Path) -> WorkerSpec:
    """Return the spec that the first worker publishes. Ignores a leftover spec whose supervisor isn't running."""
    for _ in range(int(START / _NAP)):
        with suppress(OSError, msgspec.MsgspecError):
            spec = WorkerSpec.of((folder / _SPEC).read_text())
            spec.control.place.connect(START).close()
            return spec
        time.sleep(_NAP)
    raise DistributedError(
        f"{folder}: the first worker didn't start the run within {START:g} s; read its output for the reason"
    )
