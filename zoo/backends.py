"""The backends of the command line: where workers are, or the rows of a table are computed, and what each can do."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

from netdsl.distributed.launchers.external import ExternalWorker, train_as_worker
from netdsl.distributed.launchers.local import LocalLauncher
from netdsl.distributed.run import Run, exists
from netdsl.distributed.supervision.retries import End
from netdsl.distributed.supervision.supervisor import train
from netdsl.errors import DistributedError
from netdsl.model import store_for_workers
from netdsl.solver.nets import find_file, split_names, train_net
from netdsl.spark.session import open_session, task_cores


class Backend(Protocol):
    """Where workers are."""

    name: ClassVar[str]

    @property
    def supervises(self) -> bool:
        """Whether this process watches the workers, and hears what happens."""
        ...

    def cores(self, workers: int) -> int:
        """How many processor cores each worker has."""
        ...

    def begin(self, run: Run, folder: Path) -> None:
        """Begin a run in a folder."""
        ...

    def train(self, folder: Path, **events: Any) -> End | None:
        """Train the run that a folder has; `events` are the arguments of `supervisor.train`."""
        ...


@dataclass(frozen=True)
class LocalBackend:
    """Workers are processes on this machine; tables are computed in this process."""

    name: ClassVar[str] = "local"
    supervises: ClassVar[bool] = True

    def cores(self, workers: int) -> int:
        """A worker's part of this machine."""
        return max(1, (os.cpu_count() or 1) // workers)

    def begin(self, run: Run, folder: Path) -> None:
        """Begin a run in a folder."""
        _save(run, folder)

    def train(self, folder: Path, **events: Any) -> End | None:
        """Train the run that a folder has."""
        return train(folder, LocalLauncher(), **events)


@dataclass(frozen=True)
class SparkBackend:
    """Workers, and parts of tables, are tasks of a Spark at a master; if none is named spark-submit's, or one here."""

    name: ClassVar[str] = "spark"
    supervises: ClassVar[bool] = True
    master: str | None = None
    tasks: int | None = None  # at once, in a Spark of our own; if unset, one for each core

    def cores(self, workers: int) -> int:
        """As many cores as Spark gives a task."""
        return task_cores()

    def begin(self, run: Run, folder: Path) -> None:
        """Begin a run in a folder."""
        _save(run, folder)

    def train(self, folder: Path, **events: Any) -> End | None:
        """Train the run that a folder has."""
        with replace(self, tasks=Run.load(folder).workers).session() as session:
            from netdsl.spark.workers.launcher import SparkLauncher  # only now it is known that Spark is there

            return train(folder, SparkLauncher(session), **events)

    @property
    def address(self) -> str:
        """The master, or that of a Spark of our own; empty under spark-submit, which has named one."""
        if self.master is not None:
            return self.master
        return "" if "PYSPARK_GATEWAY_PORT" in os.environ else f"local[{self.tasks or os.cpu_count() or 1}]"

    def session(self) -> AbstractContextManager[Any]:
        """A session of Spark."""
        return open_session(self.address)


@dataclass(frozen=True)
class ExternalBackend:
    """Workers are processes that something else has started, this one among them."""

    name: ClassVar[str] = "external"

    @property
    def worker(self) -> ExternalWorker:
        """Which of the workers this process is."""
        return ExternalWorker.of(os.environ)

    @property
    def supervises(self) -> bool:
        """Whether this process is the first worker."""
        return self.worker.rank == 0

    def cores(self, workers: int) -> int:
        """A worker's part of its machine."""
        return max(1, (os.cpu_count() or 1) // self.worker.local_size)

    def begin(self, run: Run, folder: Path) -> None:
        """Begin a run in a folder, in the first worker; where workers were started again, it goes on."""
        worker = self.worker
        if run.workers != worker.size:
            raise DistributedError(f"{worker.size} workers were started, not {run.workers}; --workers isn't needed")
        started_again = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)) > 0
        if worker.rank == 0 and not (started_again and exists(folder)):
            _save(run, folder)

    def train(self, folder: Path, **events: Any) -> End | None:
        """Do this process's part of the run that a folder has, or will have."""
        return train_as_worker(folder, lambda launcher: train(folder, launcher, **events))


def _save(run: Run, folder: Path) -> None:
    """Begin a run, whose weights are stored as files that all workers read."""
    if not exists(folder):  # else saving refuses it
        files = [find_file(name, run.folder) for name in split_names(run.weights)]
        run = replace(run, weights=store_for_workers(files, train_net(run.solver), folder))
    run.save(folder)


HERE = LocalBackend()
TRAINING: Mapping[str, Callable[[], Backend]] = {
    kind.name: kind for kind in (LocalBackend, SparkBackend, ExternalBackend)
}
TABLES = (LocalBackend.name, SparkBackend.name)  # that predict and test the rows of tables
