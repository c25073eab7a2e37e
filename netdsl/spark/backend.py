"""The backend whose workers, and parts of tables, are tasks of Spark."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, ClassVar

from netdsl.errors import DistributedError
from netdsl.spark.session import open_session, task_cores
from netdsl.training.backends import SPARK, Backend

if TYPE_CHECKING:  # naming a backend doesn't need torch
    from pyspark.sql import SparkSession

    from netdsl.distributed.run import Run
    from netdsl.distributed.run_log import Told
    from netdsl.distributed.supervisor import End
    from netdsl.solver.events import Action
    from netdsl.spark.launcher import SparkLauncher


FOLDER = "spark.netdsl.folder"  # the setting for the folder of runs that name none


@dataclass(frozen=True)
class SparkBackend(Backend):
    """The backend whose workers, and parts of tables, are tasks of Spark.

    Spark is at the master, or at that of spark-submit, or else on this machine. A session that this process has open
    comes before all of these.
    """

    name = SPARK
    remote: ClassVar[bool] = True
    master: str | None = None
    tasks: int | None = None  # at once, if Spark runs on this machine; if unset, one for each core

    def workers_here(self, workers: int | None) -> None:
        """Spark alone knows it."""

    def cores(self, workers: int) -> int:
        """Return the number of cores that Spark gives a task."""
        return task_cores(self.address)

    def train(
        self, folder: Path, run: Run | None, told: Callable[[Told], object], requested: Callable[[], Action]
    ) -> End | None:
        """Train the run in a folder."""
        assert run is not None  # since this process supervises
        with replace(self, tasks=run.fitting(os.cpu_count() or 1)).session() as session:
            return SessionBackend(session).train(folder, run, told, requested)

    @contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """A new folder in the one that Spark's settings name, or, of Spark on this machine, in that for such files."""
        with self.session() as session, folder_of_one_run(session) as folder:
            yield folder

    @property
    def address(self) -> str:
        """The master, or the one on this machine; empty under spark-submit, which sets one."""
        if self.master is not None:
            return self.master
        return "" if "PYSPARK_GATEWAY_PORT" in os.environ else f"local[{self.tasks or os.cpu_count() or 1}]"

    def session(self) -> AbstractContextManager[Any]:
        """Return a session of Spark."""
        return open_session(self.address)


class SessionBackend(Backend):
    """The backend of a session of Spark that is open."""

    name = SPARK
    remote: ClassVar[bool] = True

    def __init__(self, session: SparkSession) -> None:
        from netdsl.spark.launcher import SparkLauncher

        self._launcher = SparkLauncher(session)
        self.cluster = self._launcher.cluster

    def workers_here(self, workers: int | None) -> None:
        """Spark alone knows it."""

    def cores(self, workers: int) -> int:
        """Return the number of cores that Spark gives a task."""
        return self.cluster.task_cores

    def launcher(self) -> SparkLauncher:
        """Return the launcher, which remembers what it has found out about the cluster."""
        return self._launcher


@contextmanager
def folder_of_one_run(session: SparkSession) -> Iterator[Path]:
    """A folder that all of a session's executors see, which is removed afterwards."""
    folder = new_folder(session)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_folder(session: SparkSession) -> Path:
    """Return a new folder that all of a session's executors see; the caller removes it."""
    shared = session.conf.get(FOLDER, "")
    if not shared and not str(session.conf.get("spark.master", "")).startswith("local"):
        raise DistributedError(
            "data and rounds are kept in a folder that all machines share; name one in runFolder (run= of Net.train), "
            f"or for all runs in Spark's setting {FOLDER}"
        )
    folder = Path(shared or tempfile.gettempdir(), f"netdsl-{token_hex(8)}")
    try:
        folder.mkdir(parents=True, mode=0o777 if shared else 0o700)
    except OSError as problem:
        raise DistributedError(f"{folder}: can't be made: {problem.strerror}") from None
    return folder
