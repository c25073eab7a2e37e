"""The launcher for Spark, whose workers are tasks of one barrier job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from netdsl.distributed.launchers.launcher import Workers, WorkerSpec
from netdsl.distributed.run import Run
from netdsl.distributed.transports.transport import Transport
from netdsl.spark.cluster import BarrierJob, Cluster
from netdsl.spark.workers.preflight import check
from netdsl.spark.workers.task import work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkLauncher:
    """Starts a barrier job with a task for each worker, and a new job when a worker is lost.

    The run's folder, and its data, must be on storage that all executors see at the same path.
    """

    name: ClassVar[str] = "spark"
    restarts: ClassVar[bool] = True

    def __init__(self, session: SparkSession) -> None:
        self.cluster = Cluster(session)
        self.host, self.bound, self.port = self.cluster.host, self.cluster.bind_host, self.cluster.port
        self._checked: tuple[int, Transport] | None = None  # workers and transport that the preflight allowed

    def prepare(self, folder: Path, run: Run, note: Callable[[str], object]) -> Run:
        """The run with a transport that works between the executors; an error if the cluster can't do the run."""
        if run.transport is None or (run.workers, run.transport) != self._checked:
            run = check(self.cluster, folder, run, note)
            assert run.transport is not None
            self._checked = run.workers, run.transport
        return run

    def start(self, spec: WorkerSpec) -> SparkWorkers:
        """Start the job."""
        self.cluster.await_slots(spec.size)
        name = f"netdsl {Path(spec.run).name} {spec.control.port}"
        return SparkWorkers(self.cluster.submit(spec.size, partial(work, spec.text()), name), spec.size)


class SparkWorkers(Workers):
    """The workers of one job."""

    def __init__(self, job: BarrierJob, size: int) -> None:
        self._job, self._size = job, size

    def endings(self) -> Mapping[int, str]:
        """The ends of all workers if the job has ended, else of none."""
        return dict.fromkeys(range(self._size), "Spark ended its task") if self._job.has_ended() else {}

    def problem(self) -> str:
        """The reason in Spark's own words, if the job has failed."""
        problem = self._job.problem()
        return f"Spark says: {problem}" if problem else ""

    def close(self) -> None:
        """Cancel the job."""
        self._job.cancel()
