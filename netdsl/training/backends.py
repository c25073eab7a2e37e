"""Backends: the places where the workers of a run train, by their names."""

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

from netdsl.distributed.launchers import LAUNCHERS
from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import DistributedError
from netdsl.ranks import ranks_apart, share_of_cores, started_by_mpiexec

if TYPE_CHECKING:  # naming a backend doesn't need torch
    from netdsl.distributed.launcher import Launcher
    from netdsl.distributed.launchers.external import ExternalWorker
    from netdsl.distributed.run import Run
    from netdsl.distributed.run_log import Told
    from netdsl.distributed.supervisor import End
    from netdsl.solver.events import Action

LOCAL, SPARK, MPI, EXTERNAL = "local", "spark", "mpi", "external"
NAMES = (LOCAL, SPARK, MPI, EXTERNAL)  # besides those of plug-ins

_JOB_VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID")
PATIENCE, _NAP = 60.0, 0.05  # seconds to wait for other processes, and between two looks


class Backend:
    """The place where the workers of a run train. This one's workers are processes of this machine."""

    remote: ClassVar[bool] = False  # whether workers have other machines' devices than this process
    name: str

    @property
    def started(self) -> int | None:
        """The number of workers that another program has started; None if this backend starts them."""
        return None

    @property
    def supervises(self) -> bool:
        """Whether this process supervises the workers and gets their events."""
        return True

    @property
    def resumes(self) -> bool:
        """Whether the workers were started again, and go on with the run that the folder has."""
        return False

    def workers_here(self, workers: int | None) -> int | None:
        """Return how many of these workers train on this machine, if that is known before they are started."""
        return workers

    def cores(self, workers: int) -> int:
        """Return the number of processor cores of each worker."""
        return share_of_cores(workers)

    def check(self, run: Run) -> None:
        """Raise a DistributedError if the backend can't train a run."""

    def train(
        self, folder: Path, run: Run | None, told: Callable[[Told], object], requested: Callable[[], Action]
    ) -> End | None:
        """Train the run in a folder, which a process that supervises has opened; the result is how it ended there."""
        from netdsl.distributed.supervisor import train

        return train(folder, self.launcher(), run=run, told=told, requested=requested)

    @contextmanager
    def leading(self) -> Iterator[None]:
        """Inside, this process does what the processes of other workers wait for; if it fails, they end too."""
        yield

    @contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """A folder for a run that nobody keeps, which all its processes see; it is removed when they have left it."""
        with TemporaryDirectory(prefix="netdsl-") as folder:
            yield Path(folder)

    def launcher(self) -> Launcher:
        """Return the launcher that starts the workers."""
        launcher: Launcher = LAUNCHERS[self.name]()
        return launcher


class LocalBackend(Backend):
    """The backend whose workers are processes on this machine, and which computes tables in this process."""

    name = LOCAL

    def launcher(self) -> Launcher:
        """Return the launcher that starts the processes."""
        from netdsl.distributed.launchers.local import LocalLauncher

        return LocalLauncher()


class PluginBackend(Backend):
    """The backend whose workers a plug-in's launcher starts."""

    def __init__(self, name: str) -> None:
        self.name = name


class ExternalBackend(Backend):
    """The backend whose workers are processes that another program started, this one among them."""

    name = EXTERNAL
    _folders = count()  # a number for each, which is the same in all workers, since they run one program

    @property
    def worker(self) -> ExternalWorker:
        """The worker that this process is."""
        from netdsl.distributed.launchers.external import ExternalWorker

        return ExternalWorker.of(os.environ)

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
        """Whether torchrun has started the workers again."""
        return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) > 0

    def workers_here(self, workers: int | None) -> int:
        """As many as were started on this machine."""
        return self.worker.local_size

    def cores(self, workers: int) -> int:
        """Return a worker's share of the cores of its machine."""
        return share_of_cores(self.worker.local_size)

    def check(self, run: Run) -> None:
        """Raise a DistributedError if the run has another number of workers."""
        size = self.worker.size
        if run.fitting(size) != size:
            raise DistributedError(f"{size} workers were started, not {run.workers}; their number needn't be said")

    @contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """A folder that all workers of this machine find by what started them; the first one makes and removes it."""
        worker = self.worker
        refuse_several_machines(worker)
        folder = Path(gettempdir(), f"netdsl-{_name_of_job(os.environ)}-{next(self._folders)}")
        if worker.rank:
            _await_own_folder(folder)
            yield folder
            (folder / f"left-{worker.rank}").touch()
            return
        shutil.rmtree(folder, ignore_errors=True)  # of a job with the same name that was killed
        try:
            folder.mkdir(mode=0o700)
        except OSError as problem:
            raise DistributedError(f"{folder}: can't be made: {problem.strerror}; name another one by run=") from None
        try:
            yield folder
            await_all(lambda: len(list(folder.glob("left-*"))) == worker.size - 1, f"{folder}: workers don't leave it")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def train(
        self, folder: Path, run: Run | None, told: Callable[[Told], object], requested: Callable[[], Action]
    ) -> End | None:
        """Run this process's worker of the run that a folder has, or will have."""
        from netdsl.distributed.launchers.external import train_as_worker
        from netdsl.distributed.supervisor import train

        return train_as_worker(
            folder, lambda launcher: train(folder, launcher, run=run, told=told, requested=requested)
        )


def refuse_several_machines(worker: ExternalWorker) -> None:
    """Raise a DistributedError if workers are on several machines, where they share no folder for temporary files."""
    if worker.size > worker.local_size:
        raise DistributedError(
            "the workers are on several machines; name a folder that all of them see, as run='FOLDER'"
        )


def _name_of_job(environment: Mapping[str, str]) -> str:
    """Return a name that is the same for all workers of a job, and another one for each job that runs at the same
    time."""
    values = [environment.get(name, "") for name in _JOB_VARIABLES]
    return sha256("\0".join(values).encode()).hexdigest()[:16]


def _await_own_folder(folder: Path) -> None:
    """Wait until a folder is there that nobody but this user can have made or can write to."""

    def is_own() -> bool:
        try:
            status = folder.lstat()
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise DistributedError(f"{folder}: belongs to somebody else; name another folder by run=")
        return True

    await_all(is_own, f"{folder}: the first worker doesn't make it; it says why")


def await_all(condition: Callable[[], bool], problem: str, seconds: float = PATIENCE) -> None:
    """Wait for what other processes do; a DistributedError with the problem if it takes too long."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise DistributedError(problem)
        time.sleep(_NAP)


_BACKENDS: Mapping[str, type[Backend] | str] = {
    LOCAL: LocalBackend,
    SPARK: "netdsl.spark.backend:SparkBackend",  # in rooms above this one
    MPI: "netdsl.mpi.backend:MpiBackend",
    EXTERNAL: ExternalBackend,
}


def backend_named(name: str, **settings: Any) -> Backend:
    """Return the backend of a name, which may be that of a plug-in's launcher; Spark's has settings, such as a
    `master`."""
    kind = _BACKENDS.get(name)
    if kind is None:
        if name not in LAUNCHERS:
            others = ", ".join((*NAMES, *LAUNCHERS))
            raise DistributedError(f"there is no backend '{name}'; there are {others}")
        return PluginBackend(name)
    if isinstance(kind, str):
        module, _, class_name = kind.partition(":")
        kind = getattr(import_module(module), class_name)
    backend: Backend = kind(**settings)
    return backend


def backend_around(environment: Mapping[str, str]) -> Backend | None:
    """Return the backend of the ranks that mpiexec, torchrun or the like started, if this process is one of several."""
    if ranks_apart(environment) is None:
        return None
    return backend_named(MPI if started_by_mpiexec(environment) else EXTERNAL)


def chosen_backend(backend: str | Backend | None, workers: int | str | None = None) -> Backend | None:
    """Return the backend that a program names, or that of the ranks that this process is one of; None if it says
    nothing."""
    if backend is None:
        return backend_around(os.environ)
    if isinstance(backend, str):
        tasks = {"tasks": WorkerCount.parse(str(workers)).most} if backend == SPARK and workers is not None else {}
        return backend_named(backend, **tasks)
    return backend


HERE = LocalBackend()
