"""The backend that runs workers, and parts of tables, as tasks of Spark."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, ClassVar

from caffe_proto.storage import PRIVATE, create_folder
from netdsl.distributed.control.place import Ports
from netdsl.spark.cluster import PORT
from netdsl.spark.kinds import HOST
from netdsl.spark.session import SETTINGS, open_session, task_cores
from netdsl.training.backends import SPARK, Backend

if TYPE_CHECKING:  # naming a backend doesn't need torch
    from pyspark.sql import SparkSession

    from netdsl.distributed.run import Run
    from netdsl.distributed.run_log import Told
    from netdsl.distributed.supervisor import End
    from netdsl.solver.events import Action
    from netdsl.spark.launcher import SparkLauncher


FOLDER = "spark.netdsl.folder"  # the setting for the folder of runs that don't name one


@dataclass(frozen=True)
class SparkBackend(Backend):
    """The backend that runs workers, and parts of tables, as tasks of Spark.

    Uses the Spark session that this process has open. Otherwise opens one at `master`, at `remote`, which is a server
    of Spark Connect, at the master of spark-submit, or on this machine. A server of Spark Connect can also be named in
    SPARK_REMOTE. With it, executors connect to this process at an address and a port that may be named.
    """

    name = SPARK
    on_other_machines: ClassVar[bool] = True
    master: str | None = None
    tasks: int | None = None  # number of simultaneous tasks if Spark runs on this machine; one for each core if unset
    remote: str | None = None
    address: str | None = None
    port: Ports | str | None = None

    def workers_here(self, workers: int | None) -> None:
        """Return `None`, since only Spark knows the number."""

    def cores(self, workers: int) -> int:
        """Return the number of cores that Spark gives a task."""
        if self._remote is None:
            return task_cores(self.spark_master)
        with self.session() as session:
            return SessionBackend(session).cores(workers)

    def train(
        self, folder: Path, run: Run | None, told: Callable[[Told], object], requested: Callable[[], Action]
    ) -> End | None:
        """Train the run in a folder."""
        assert run is not None  # this process supervises
        with replace(self, tasks=run.fitting(os.cpu_count() or 1)).session() as session:
            return SessionBackend(session).train(folder, run, told, requested)

    @contextmanager
    def temporary_folder(self) -> Iterator[Path]:
        """Create a folder in the one that Spark's settings name, or in the folder for temporary files."""
        with self.session() as session, folder_of_one_run(session) as folder:
            yield folder

    @property
    def _remote(self) -> str | None:
        """The server of Spark Connect, if any."""
        return self.remote or (None if self.master is not None else os.environ.get("SPARK_REMOTE"))

    @property
    def spark_master(self) -> str:
        """The given master, or the one on this machine. The value is empty under spark-submit, which sets its own."""
        if self.master is not None:
            return self.master
        return "" if "PYSPARK_GATEWAY_PORT" in os.environ else f"local[{self.tasks or os.cpu_count() or 1}]"

    @contextmanager
    def session(self) -> Iterator[SparkSession]:
        """Open a session of Spark."""
        with open_session(self.spark_master, SETTINGS, remote=self._remote) as session:
            ports = Ports.parse(self.port) if isinstance(self.port, str) else self.port
            if self.address is not None:
                session.conf.set(HOST, self.address)
            if ports is not None:
                session.conf.set(PORT, f"{ports.first}-{ports.last}")
            yield session


class SessionBackend(Backend):
    """The backend of an open session of Spark."""

    name = SPARK
    on_other_machines: ClassVar[bool] = True

    def __init__(self, session: SparkSession) -> None:
        from netdsl.spark.launcher import SparkLauncher

        self._launcher = SparkLauncher(session)
        self.cluster = self._launcher.cluster

    def workers_here(self, workers: int | None) -> None:
        """Return `None`, since only Spark knows the number."""

    def cores(self, workers: int) -> int:
        """Return the number of cores that Spark gives a task."""
        return self.cluster.task_cores

    def launcher(self) -> SparkLauncher:
        """Return the launcher, which remembers its checks of the cluster."""
        return self._launcher


@contextmanager
def folder_of_one_run(session: SparkSession) -> Iterator[Path]:
    """Create a folder for a run of a session, and remove it afterwards."""
    folder = new_folder(session)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_folder(session: SparkSession) -> Path:
    """Return a new folder, in the one that Spark's settings name or on this machine. The caller removes it."""
    shared = session.conf.get(FOLDER, "")
    folder = Path(shared or tempfile.gettempdir(), f"netdsl-{token_hex(8)}")
    create_folder(folder, None if shared else PRIVATE)  # executors of another user may have to write there
    return folder
