"""The backends of the command line, on which workers train and the rows of tables are computed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from caffe_proto.errors import FileError, MissingExtraError
from netdsl.distributed.launchers import LAUNCHERS
from netdsl.errors import DataError, DistributedError
from netdsl.ranks import share_of_cores, started_by_mpiexec
from netdsl.spark.session import open_session, task_cores

if TYPE_CHECKING:  # whoever only names a backend needn't wait for torch
    from netdsl.distributed.launcher import Launcher
    from netdsl.distributed.launchers.external import ExternalWorker
    from netdsl.distributed.run import Run
    from netdsl.distributed.supervisor import End
    from netdsl.model.model import Model


class Backend(Protocol):
    """The place on which workers run."""

    remote: ClassVar[bool]  # whether workers have other machines' devices than this process

    @property
    def name(self) -> str:
        """What it is called as a choice of --backend."""
        ...

    @property
    def started(self) -> int | None:
        """The number of workers that something else has started; None if they are this backend's to start."""
        ...

    @property
    def supervises(self) -> bool:
        """Whether this process supervises the workers and gets their events."""
        ...

    def workers_here(self, workers: int | None) -> int | None:
        """How many of so many workers train on this machine, if that is known before they are started."""
        ...

    def cores(self, workers: int) -> int:
        """The number of processor cores of each worker."""
        ...

    def begin(self, run: Run, folder: Path, weights: Sequence[Model]) -> Run:
        """Begin a run in a folder, with weights that were opened; the result is the run that the folder then has."""
        ...

    def train(self, folder: Path, run: Run | None = None, **events: Any) -> End | None:
        """Train the run in a folder, which a process that supervises has opened; `events` go to `supervisor.train`."""
        ...


class _OnThisMachine:
    """A backend that starts its workers on this machine."""

    remote: ClassVar[bool] = False
    started: ClassVar[int | None] = None
    supervises: ClassVar[bool] = True

    def workers_here(self, workers: int | None) -> int | None:
        """All of them."""
        return workers

    def cores(self, workers: int) -> int:
        """A worker's share of the cores of this machine."""
        return share_of_cores(workers)

    def begin(self, run: Run, folder: Path, weights: Sequence[Model]) -> Run:
        """Begin a run in a folder, once its nets and data were opened."""
        return _begun(run, folder, weights)

    def train(self, folder: Path, run: Run | None = None, **events: Any) -> End | None:
        """Train the run in a folder."""
        from netdsl.distributed.supervisor import train

        return train(folder, self.launcher(), run=run, **events)

    def launcher(self) -> Launcher:
        """What starts the workers."""
        raise NotImplementedError


@dataclass(frozen=True)
class LocalBackend(_OnThisMachine):
    """The backend whose workers are processes on this machine, and which computes tables in this process."""

    name: ClassVar[str] = "local"

    def launcher(self) -> Launcher:
        """What starts the processes."""
        from netdsl.distributed.launchers.local import LocalLauncher

        return LocalLauncher()


@dataclass(frozen=True)
class PluginBackend(_OnThisMachine):
    """The backend whose workers a plug-in's launcher starts."""

    name: str

    def launcher(self) -> Launcher:
        """The launcher that has the backend's name."""
        return LAUNCHERS[self.name]()


@dataclass(frozen=True)
class SparkBackend:
    """The backend whose workers, and parts of tables, are tasks of Spark.

    Spark is at the master, or at that of spark-submit, or else on this machine.
    """

    name: ClassVar[str] = "spark"
    remote: ClassVar[bool] = True
    started: ClassVar[int | None] = None
    supervises: ClassVar[bool] = True
    master: str | None = None
    tasks: int | None = None  # at once, if Spark runs on this machine; if unset, one for each core

    def workers_here(self, workers: int | None) -> None:
        """Spark knows."""

    def cores(self, workers: int) -> int:
        """The number of cores that Spark gives a task."""
        return task_cores(self.address)

    def begin(self, run: Run, folder: Path, weights: Sequence[Model]) -> Run:
        """Begin a run in a folder, once its nets were opened; data may be out of this machine's reach."""
        from netdsl.net.graph import resolve_own_state

        for model in (run.solver.trained, *run.solver.tested):
            resolve_own_state(model.net)
        with suppress(DataError, FileError, MissingExtraError):  # which workers tell, unless they reach the data
            _open_everything(run, weights)
        return _saved(run, folder, weights)

    def train(self, folder: Path, run: Run | None = None, **events: Any) -> End | None:
        """Train the run in a folder."""
        from netdsl.distributed.supervisor import train

        assert run is not None  # since this process supervises
        with replace(self, tasks=run.fitting(os.cpu_count() or 1)).session() as session:
            from netdsl.spark.launcher import SparkLauncher

            return train(folder, SparkLauncher(session), run=run, **events)

    @property
    def address(self) -> str:
        """The master, or the one on this machine; empty under spark-submit, which sets one."""
        if self.master is not None:
            return self.master
        return "" if "PYSPARK_GATEWAY_PORT" in os.environ else f"local[{self.tasks or os.cpu_count() or 1}]"

    def session(self) -> AbstractContextManager[Any]:
        """A session of Spark."""
        return open_session(self.address)


@dataclass(frozen=True)
class ExternalBackend:
    """The backend whose workers are processes that another program started, this one among them."""

    name: ClassVar[str] = "external"
    remote: ClassVar[bool] = False

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

    def workers_here(self, workers: int | None) -> int:
        """As many as were started on this machine."""
        return self.worker.local_size

    def cores(self, workers: int) -> int:
        """A worker's share of the cores of its machine."""
        return share_of_cores(self.worker.local_size)

    def begin(self, run: Run, folder: Path, weights: Sequence[Model]) -> Run:
        """Begin a run in a folder, in the first worker; a run of restarted workers is resumed."""
        from netdsl.distributed.run import Run, exists

        worker = self.worker
        if run.fitting(worker.size) != worker.size:
            raise DistributedError(f"{worker.size} workers were started, not {run.workers}; --workers isn't needed")
        started_again = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) > 0
        if worker.rank != 0:
            return run
        if started_again and exists(folder):
            return Run.load(folder)
        return _begun(run, folder, weights)

    def train(self, folder: Path, run: Run | None = None, **events: Any) -> End | None:
        """Run this process's worker of the run that a folder has, or will have."""
        from netdsl.distributed.launchers.external import train_as_worker
        from netdsl.distributed.supervisor import train

        return train_as_worker(folder, lambda launcher: train(folder, launcher, run=run, **events))


@dataclass(frozen=True)
class MpiBackend:
    """The backend whose workers are ranks of MPI.

    A process that mpiexec started is one of them; any other starts mpiexec itself, for ranks on this machine.
    """

    name: ClassVar[str] = "mpi"
    remote: ClassVar[bool] = False

    @property
    def started(self) -> int | None:
        """The number of ranks, if mpiexec started this process."""
        return None if self.rank is None else self.rank.size

    @property
    def supervises(self) -> bool:
        """Whether this process supervises the workers and gets their events."""
        return self.rank is None or self.rank.rank == 0

    @cached_property
    def rank(self) -> ExternalWorker | None:
        """The worker that this process is, if mpiexec started it."""
        if not started_by_mpiexec(os.environ):
            return None
        from netdsl.mpi.launcher import this_rank

        return this_rank()

    def workers_here(self, workers: int | None) -> int | None:
        """Those on this machine: all, if this process starts them."""
        return workers if self.rank is None else self.rank.local_size

    def cores(self, workers: int) -> int:
        """A worker's share of the cores of its machine."""
        return share_of_cores(workers if self.rank is None else self.rank.local_size)

    def begin(self, run: Run, folder: Path, weights: Sequence[Model]) -> Run:
        """Begin a run in a folder, in the first rank."""
        if self.rank is not None and run.workers != self.rank.size:
            raise DistributedError(f"mpiexec started {self.rank.size} ranks, not {run.workers}; --workers isn't needed")
        return _begun(run, folder, weights) if self.supervises else run

    def train(self, folder: Path, run: Run | None = None, **events: Any) -> End | None:
        """Train the run in a folder, or do this rank's part of it."""
        from netdsl.distributed.supervisor import train

        if self.rank is None:
            from netdsl.mpi.launcher import MpiexecLauncher

            return train(folder, MpiexecLauncher(), run=run, **events)
        from netdsl.mpi.launcher import train_as_rank

        return train_as_rank(lambda launcher: train(folder, launcher, run=run, **events))


def _begun(run: Run, folder: Path, weights: Sequence[Model]) -> Run:
    """The run, which is begun in a folder once all that it needs was opened."""
    _open_everything(run, weights)
    return _saved(run, folder, weights)


def _open_everything(run: Run, weights: Sequence[Model]) -> None:
    """Open all that a run needs, so that a mistake in it is told before the run takes its folder."""
    import torch

    from netdsl.solver.open_solver import open_solver

    compute = replace(run.compute, device=torch.device("cpu"))
    with open_solver(run.solver, compute=compute, weights=weights, tables=run.tables):
        pass


def _saved(run: Run, folder: Path, weights: Sequence[Model]) -> Run:
    """The run, which is begun in a folder; its weights are stored there as files that all workers read."""
    from netdsl.distributed.run import exists
    from netdsl.model.opening import store_for_workers

    if not exists(folder):  # otherwise saving is refused
        run = replace(run, weights=store_for_workers(weights, folder))
    run.save(folder)
    return run


HERE = LocalBackend()
TRAINING: Mapping[str, Callable[[], Backend]] = {
    kind.name: kind for kind in (LocalBackend, SparkBackend, MpiBackend, ExternalBackend)
}  # besides those of plug-ins
TABLES = (LocalBackend.name, SparkBackend.name)  # the backends for the rows of tables
