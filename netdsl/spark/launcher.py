"""The launcher for Spark, which runs workers as tasks of one barrier job."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, ClassVar

import msgspec
import torch
from pyspark import BarrierTaskContext

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.launcher import Workers, WorkerSpec
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import run_worker
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import user_code_problem
from netdsl.spark.cluster import GPUS, BarrierJob, Cluster, assigned_gpus, local_rank
from netdsl.spark.preflight import check_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkLauncher:
    """Starts a barrier job with a task for each worker, and a new job when a worker is lost.

    The data must be on storage that all executors see at the same path. Only the driver needs the run's folder.
    """

    name: ClassVar[str] = "spark"
    restarts: ClassVar[bool] = True
    regroups: ClassVar[bool] = False  # when a task of a barrier job fails, Spark ends all of them

    def __init__(self, session: SparkSession, work: Callable[[WorkerSpec], object] = run_worker) -> None:
        self._work = work  # what each task does
        self.cluster = Cluster(session)
        self.place: NetworkPlace | None = self.cluster.place
        self._checked = set[int]()  # numbers of workers for which the preflight has passed

    def prepare(self, folder: Path, run: Run, note: Callable[[str], object]) -> Run:
        """Return the run with its devices and a transport. Raises a `DistributedError` if the cluster can't run it."""
        room, run = self.room(run), self._with_devices(run, note)
        if room not in self._checked:
            check_cluster(self.cluster, folder, replace(run, workers=room), note)
            self._checked.add(room)
        return run if run.transport is not None else replace(run, transport=self._best_transport(run))

    def _best_transport(self, run: Run) -> Transport:
        """Return NCCL if each task has its own GPUs and computes on the first of them, and gloo otherwise."""
        own_gpu = self.cluster.task_gpus >= 1 and run.devices == (torch.device("cuda"),)
        return Transport.NCCL if own_gpu else Transport.GLOO

    def _with_devices(self, run: Run, note: Callable[[str], object]) -> Run:
        """Return the run on the GPUs that Spark assigns to its tasks, unless it names devices or its settings require
        the CPU."""
        if run.devices:
            return run
        wants_gpu = run.solver.param.solver_mode == pb.SolverParameter.GPU  # Caffe's default
        if wants_gpu and run.solver.param.HasField("solver_mode") and not self.cluster.task_gpus:
            note(
                "the solver requests a GPU (solver_mode), but Spark assigns none to its tasks, so they compute "
                f"on CPUs; set {GPUS}, or name a device"
            )
        return replace(run, devices=(torch.device("cuda" if wants_gpu and self.cluster.task_gpus else "cpu"),))

    def room(self, run: Run) -> int:
        """Return the number of workers. For an elastic run, this is one for each task that Spark can run now."""
        return run.workers if run.fewest is None else run.fitting(self.cluster.slots())

    def start(self, spec: WorkerSpec) -> SparkWorkers:
        """Start the job."""
        self.cluster.await_slots(spec.size)
        name = f"netdsl {Path(spec.run).name} {token_hex(4)}"
        return SparkWorkers(self.cluster.submit(spec.size, partial(run_task, self._work, spec.text()), name), spec.size)


class SparkWorkers(Workers):
    """The workers of one job."""

    sees_endings: ClassVar[bool] = True

    def __init__(self, job: BarrierJob, size: int) -> None:
        self._job, self._size = job, size

    def endings(self) -> Mapping[int, str]:
        """Return the ends of all workers if the job has ended. Returns an empty mapping otherwise."""
        return dict.fromkeys(range(self._size), "Spark ended its task") if self._job.has_ended() else {}

    def problem(self) -> str:
        """Return the reason that the job failed, in Spark's words. Returns an empty string if it hasn't failed."""
        problem = self._job.problem()
        return f"Spark reports: {problem}" if problem else ""

    def close(self) -> None:
        """Cancel the job."""
        self._job.cancel()


def run_task(work: Callable[[WorkerSpec], object], text: str, rank: int) -> Iterable[str]:
    """Run a worker. It reports its errors to the supervisor, and only a crash also fails the task."""
    context = BarrierTaskContext.get()
    place, gpus = local_rank(context, rank), assigned_gpus(context)
    spec = msgspec.structs.replace(WorkerSpec.of(text), rank=rank, local_rank=place, gpus=gpus)
    with _in_folder(spec.folder), spec.allowing():
        try:
            work(spec)
        except Exception as problem:
            if not isinstance(problem, CaffeError) and user_code_problem(problem) is None:
                raise
    return ()


@contextmanager
def _in_folder(folder: str) -> Iterator[None]:
    """Work in the driver's folder if this machine has it, and exclude torch's many objects from garbage collection."""
    before = Path.cwd()
    with suppress(OSError):
        os.chdir(folder)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.collect()  # closes the connections of nets that are part of reference cycles
        os.chdir(before)
