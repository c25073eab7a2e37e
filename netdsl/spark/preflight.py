"""The preflight of a run on Spark, which checks that the cluster can run it."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
from pyspark import BarrierTaskContext

from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.server import ControlServer, Serve
from netdsl.distributed.control.versions import Versions, differences
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import worker_device
from netdsl.distributed.supervisor import RETRIES
from netdsl.errors import DistributedError, PeerLostError
from netdsl.spark.cluster import PORT, BarrierJob, Cluster, assigned_gpus, local_rank

Task = Callable[[str, int], Iterator[str]]

_LIMIT = 300.0  # seconds for the examinations of all tasks
_DYNAMIC = "spark.dynamicAllocation.enabled"
_PYTHON = "ModuleNotFoundError", "Cannot run program", "PYTHON_VERSION_MISMATCH"


def check_cluster(cluster: Cluster, folder: Path, run: Run, note: Callable[[str], object]) -> None:
    """Raise a `DistributedError` with advice if the cluster can't run the workers."""
    if cluster.setting(_DYNAMIC, "false") == "true":
        raise DistributedError(f"workers must keep their executors, but dynamic allocation is on; set {_DYNAMIC}=false")
    task = partial(examine_task, examine, Versions.here(), run.devices or (run.compute.device,))
    problems = _examine_all(cluster, folder, run.workers, task, note)
    if problems:
        raise DistributedError("; ".join(dict.fromkeys(problems)))


class LostTaskError(DistributedError):
    """A task ended too early, as when an executor is lost."""


def _examine_all(cluster: Cluster, folder: Path, size: int, task: Task, note: Callable[[str], object]) -> list[str]:
    """Return the problems that the tasks found. If a task is lost, all tasks are tried again, as in training."""
    for attempt in range(RETRIES):
        try:
            return _examine_once(cluster, folder, size, task)
        except LostTaskError as problem:
            note(f"{problem}; trying again ({attempt + 1} of {RETRIES})")
    return _examine_once(cluster, folder, size, task)


def _examine_once(cluster: Cluster, folder: Path, size: int, task: Task) -> list[str]:
    cluster.await_slots(size)
    with listening_server(cluster, size) as server:
        spec = WorkerSpec(str(folder), str(Path.cwd()), size, server.address())
        job = cluster.submit(size, partial(task, spec.text()), f"netdsl preflight {secrets.token_hex(4)}")
        try:
            return _answers_of(job, size)
        finally:
            job.cancel()


def listening_server(cluster: Cluster, size: int, serve_files: Serve | None = None) -> ControlServer:
    """Return a control server that listens where executors reach the driver."""
    try:
        return ControlServer(cluster.place, size, serve_files=serve_files)
    except DistributedError as problem:
        raise DistributedError(
            f"{problem}, in Spark's settings {PORT} and spark.driver.bindAddress; set {PORT} to 0 for any free "
            "port, and the address to one of this machine"
        ) from None


def _answers_of(job: BarrierJob, size: int) -> list[str]:
    if not job.has_ended(_LIMIT):
        raise DistributedError(
            f"Spark didn't run and finish {size} tasks at once within {_LIMIT:g} s; wait until other jobs no longer "
            "occupy its slots, or look for tasks that hang, on Spark's page under Stages"
        )
    problem = job.problem()
    if any(sign in problem for sign in _PYTHON):
        raise DistributedError(
            f"the Python of the executors can't run workers: {problem}; install netdsl {Versions.here().netdsl} "
            "there, or ship an environment with it (spark-submit --archives), and set PYSPARK_PYTHON to its "
            "Python"
        )
    if problem:
        raise LostTaskError(
            f"Spark can't run the workers: {problem}; look for the cause in the executors' logs, on Spark's page "
            "under Executors"
        )
    return job.results()


def examine_task(
    examine: Callable[[str, Versions, int], Iterator[str]],
    versions: Versions,
    devices: Sequence[torch.device],
    text: str,
    rank: int,
) -> Iterator[str]:
    """Yield the problems of a task's machine, and of the device that its worker would use there."""
    yield from examine(text, versions, rank)
    context = BarrierTaskContext.get()
    number = local_rank(context, rank)
    try:
        worker_device(devices[number % len(devices)], number, assigned_gpus(context))
    except DistributedError as problem:
        yield str(problem)


def examine(text: str, versions: Versions, rank: int) -> Iterator[str]:
    """Yield the problems of a task's machine."""
    spec, host = WorkerSpec.of(text), socket.gethostname()
    unlike = differences({"the driver": versions, host: Versions.here()}).serious
    if unlike:
        yield f"{host}: {unlike}"
    try:
        with ControlClient(spec.control, rank):
            pass
    except PeerLostError as problem:
        way = (
            "open the network from executors to the driver, or set spark.driver.host, or with Spark Connect "
            "spark.netdsl.host, to an address that they can reach"
        )
        yield f"{host}: {problem}; {way}"
