"""Backends, by name. A backend is the place where the workers of a run train."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Any, ClassVar

from netdsl.distributed.control.place import MASTER_ADDRESS, Ports
from netdsl.distributed.launchers import LAUNCHERS
from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import DistributedError
from netdsl.ranks import Ranks, job_in, ranks_apart, share_of_cores, started_by_mpiexec

if TYPE_CHECKING:  # torch isn't needed to name a backend
    from netdsl.distributed.launcher import Launcher
    from netdsl.distributed.launchers.rendezvous import Rendezvous
    from netdsl.distributed.run import Run
    from netdsl.distributed.run_log import Told
    from netdsl.distributed.supervisor import End
    from netdsl.solver.events import Action

LOCAL, SPARK, MPI, EXTERNAL = "local", "spark", "mpi", "external"
NAMES = (LOCAL, SPARK, MPI, EXTERNAL)  # plug-ins add more

PATIENCE, _NAP = 60.0, 0.05  # seconds to wait for other processes, and between two checks


class Backend:
    """The place where the workers of a run train. In this base class, workers are processes on this machine."""

    on_other_machines: ClassVar[bool] = False  # whether the workers' devices can belong to other machines
    name: str

    @property
    def started(self) -> int | None:
        """The number of workers that another program has started, or `None` if this backend starts the workers."""
        return None

    @property
    def supervises(self) -> bool:
        """Whether this process supervises the workers and gets their events."""
        return True

    @property
    def resumes(self) -> bool:
        """Whether the workers were restarted and continue the run in the folder."""
        return False

    def workers_here(self, workers: int | None) -> int | None:
        """Return how many of these workers train on this machine, or `None` if that isn't known before they start."""
        return workers

    def cores(self, workers: int) -> int:
        """Return the number of processor cores for each worker."""
        return share_of_cores(workers)

    def check(self, run: Run) -> None:
        """Raise a `DistributedError` if the backend can't train a run."""

    def train(
        self, folder: Path, run: Run | None, told: Callable[[Told], object], requested: Callable[[], Action]
    ) -> End | None:
        """Train the run in a folder and return how it ended.

        The supervising process passes the run that it has opened. Other processes return `None`.
        """
        from netdsl.distributed.supervisor import train

        return train(folder, self.launcher(), run=run, told=told, requested=requested)

    @contextmanager
    def leading(self, folder: Path) -> Iterator[None]:
        """Mark work of this process for a run's folder, for which the processes of other workers wait. If it fails,
        they end too."""
        yield

    @contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """Yield a temporary folder for a run, which all its processes can see. It is removed when all of them have left
        it."""
        with TemporaryDirectory(prefix="netdsl-") as folder:
            yield Path(folder)

    def launcher(self) -> Launcher:
        """Return the launcher that starts the workers."""
        launcher: Launcher = LAUNCHERS[self.name]()
        return launcher


class LocalBackend(Backend):
    """The backend whose workers are processes on this machine. Tables are computed in this process."""

    name = LOCAL

    def launcher(self) -> Launcher:
        """Return the launcher that starts the processes."""
        from netdsl.distributed.launchers.local import LocalLauncher

        return LocalLauncher()


class PluginBackend(Backend):
    """The backend whose workers are started by a plug-in's launcher."""

    def __init__(self, name: str) -> None:
        self.name = name


class ExternalBackend(Backend):
    """The backend whose workers are processes that another program started. This process is one of them.

    On several machines, the first worker listens for the others. `address` is an address or a name of its machine that
    the others reach, and `port` a port or a range, such as 5000-5010. By default they are found.
    """

    name = EXTERNAL
    _folders = count()  # the next folder's number; all workers count alike, because they run the same program

    def __init__(self, address: str | None = None, port: Ports | str | None = None) -> None:
        self._address, self._ports = address, Ports.parse(port) if isinstance(port, str) else port

    @property
    def worker(self) -> Ranks:
        """The ranks of this process."""
        from netdsl.distributed.launchers.external import worker_in

        return worker_in(os.environ)

    @property
    def started(self) -> int:
        """The number of workers that were started."""
        return self.worker.size

    @property
    def supervises(self) -> bool:
        """Whether this process is the first worker."""
        return self.worker.rank == 0

    @property
    def resumes(self) -> bool:
        """Whether torchrun has restarted the workers."""
        return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) > 0

    def workers_here(self, workers: int | None) -> int:
        """Return the number of workers that were started on this machine."""
        return self.worker.local_size

    def cores(self, workers: int) -> int:
        """Return a worker's share of the cores of its machine."""
        return share_of_cores(self.worker.local_size)

    def check(self, run: Run) -> None:
        """Raise a `DistributedError` if the run has another number of workers."""
        size = self.worker.size
        if run.fitting(size) != size:
            raise DistributedError(f"{size} workers were started, not {run.workers}; leave out the number of workers")

    @contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """Yield a folder that all workers of this machine find by the name of their job. The first worker creates and
        removes it."""
        worker = self.worker
        refuse_several_machines(worker)
        folder = Path(gettempdir(), f"netdsl-{_name_of_job(os.environ)}-{next(self._folders)}")
        if worker.rank:
            _await_own_folder(folder)
            yield folder
            (folder / f"left-{worker.rank}").touch()
            return
        shutil.rmtree(folder, ignore_errors=True)  # a killed job of the same name can have left it
        try:
            folder.mkdir(mode=0o700)
        except OSError as problem:
            raise DistributedError(
                f"{folder}: can't be created: {problem.strerror}; name a folder that you can write to, as run='FOLDER'"
            ) from None
        try:
            yield folder
            await_all(
                lambda: len(list(folder.glob("left-*"))) == worker.size - 1,
                f"{folder}: some workers don't leave the folder; check whether they hang",
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def train(
        self, folder: Path, run: Run | None, told: Callable[[Told], object], requested: Callable[[], Action]
    ) -> End | None:
        """Run this process's worker of the run that the folder contains or will contain."""
        from netdsl.distributed.launchers.external import train_as_worker
        from netdsl.distributed.supervisor import train

        return train_as_worker(
            self._rendezvous(folder),
            lambda launcher: train(folder, launcher, run=run, told=told, requested=requested),
        )

    @contextmanager
    def leading(self, folder: Path) -> Iterator[None]:
        """Do work inside the context for which the other workers wait. If it fails, they get to know the reason."""
        with self._rendezvous(folder).leading():
            yield

    def _rendezvous(self, folder: Path) -> Rendezvous:
        from netdsl.distributed.launchers.external import rendezvous_of_workers

        return rendezvous_of_workers(folder, self._address, self._ports)


def refuse_several_machines(worker: Ranks) -> None:
    """Raise a `DistributedError` if the workers are on several machines, because these don't share temporary
    folders."""
    if worker.on_several_machines:
        raise DistributedError(
            "the workers are on several machines; name a folder that all of them can see, as run='FOLDER'"
        )


def _name_of_job(environment: Mapping[str, str]) -> str:
    """Return a name that is the same for all workers of a job and different for each job that runs at the same time."""
    return sha256(f"{environment.get(MASTER_ADDRESS, '')}/{job_in(environment)}".encode()).hexdigest()[:16]


def _await_own_folder(folder: Path) -> None:
    """Wait until the folder exists. Raises an error unless it belongs to this user and no other user can write to
    it."""

    def is_own() -> bool:
        try:
            status = folder.lstat()
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise DistributedError(
                f"{folder}: the folder belongs to another user or is open to others; name a folder of your own, "
                "as run='FOLDER'"
            )
        return True

    await_all(is_own, f"{folder}: the first worker doesn't create the folder; see its error")


def await_all(condition: Callable[[], bool], problem: str, seconds: float = PATIENCE) -> None:
    """Wait until other processes have fulfilled a condition.

    Raises a `DistributedError` with the problem if that takes too long.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise DistributedError(problem)
        time.sleep(_NAP)


_BACKENDS: Mapping[str, type[Backend] | str] = {
    LOCAL: LocalBackend,
    SPARK: "netdsl.spark.backend:SparkBackend",  # in packages above this one
    MPI: "netdsl.mpi.backend:MpiBackend",
    EXTERNAL: ExternalBackend,
}


def backend_named(name: str, **settings: Any) -> Backend:
    """Return the backend with a name, which can be that of a plug-in's launcher. Spark's backend has settings, such as
    `master`."""
    kind = _BACKENDS.get(name)
    if kind is None:
        if name not in LAUNCHERS:
            others = ", ".join((*NAMES, *LAUNCHERS))
            raise DistributedError(f"there is no backend '{name}'; choose from {others}")
        return PluginBackend(name)
    if isinstance(kind, str):
        module, _, class_name = kind.partition(":")
        kind = getattr(import_module(module), class_name)
    backend: Backend = kind(**settings)
    return backend


def backend_around(environment: Mapping[str, str]) -> Backend | None:
    """Return the backend for the ranks that mpiexec, torchrun or a similar program started.

    Returns `None` if this process isn't one of several.
    """
    if ranks_apart(environment) is None:
        return None
    return backend_named(MPI if started_by_mpiexec(environment) else EXTERNAL)


def chosen_backend(backend: str | Backend | None, workers: int | str | None = None) -> Backend | None:
    """Return the backend that a program names, or else the backend for the ranks to which this process belongs.

    Returns `None` if there is neither.
    """
    if backend is None:
        return backend_around(os.environ)
    if isinstance(backend, str):
        tasks = {"tasks": WorkerCount.parse(str(workers)).most} if backend == SPARK and workers is not None else {}
        return backend_named(backend, **tasks)
    return backend


HERE = LocalBackend()
