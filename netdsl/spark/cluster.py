"""The cluster of a Spark session: its settings, its slots, and barrier jobs on it."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from caffe_proto.whole_numbers import whole_number
from netdsl.distributed.control.place import NetworkPlace
from netdsl.errors import DistributedError

if TYPE_CHECKING:
    from pyspark import BarrierTaskContext, SparkContext, TaskContext
    from pyspark.sql import SparkSession


Work = Callable[[Iterable[int]], Iterable[Any]]

PORT = "spark.netdsl.port"  # the setting for the driver's port
GPUS = "spark.task.resource.gpu.amount"  # the setting for the number of GPUs, or the fraction of one, for a task
# The places in which users name the workers' Python.
_PYTHON, _PYTHON_VARIABLE = ("spark.pyspark.python", "PYSPARK_PYTHON")
_LAST_PORT = 65535
_SLOTS = 120.0  # seconds for executors to start or restart
_CANCEL = 30.0  # seconds for Spark to cancel a job
_POLL = 0.2  # seconds between two polls


def run_in_this_python(context: SparkContext) -> None:
    """Let the workers of a local Spark run in this Python, unless the user has named another one.

    Otherwise Spark runs the first `python3` on the path, which may not have netdsl.
    """
    named = _PYTHON_VARIABLE in os.environ or context.getConf().get(_PYTHON) is not None
    if str(context.master).startswith("local") and not named:
        context.pythonExec = sys.executable


class Cluster:
    """A Spark cluster, as the driver sees it."""

    def __init__(self, session: SparkSession) -> None:
        try:
            self._context: SparkContext = session.sparkContext
        except Exception as problem:  # Spark Connect has no such context
            raise DistributedError(
                "barrier jobs need a classic Spark session, but this one is of Spark Connect "
                f"({first_line(problem)}); open one with SparkSession.builder.master(...) instead of remote(...)"
            ) from None
        run_in_this_python(self._context)

    def setting(self, name: str, default: str) -> str:
        """Return the value of one of Spark's settings."""
        return str(self._context.getConf().get(name, default))

    @property
    def place(self) -> NetworkPlace:
        """The place at which the driver listens, and at which executors reach it."""
        host = _without_brackets(self.setting("spark.driver.host", "localhost"))
        return NetworkPlace((host,), _without_brackets(self.setting("spark.driver.bindAddress", host)), (self.port,))

    @property
    def task_cores(self) -> int:
        """The number of cores for a task."""
        return int(self.setting("spark.task.cpus", "1"))

    @property
    def task_gpus(self) -> float:
        """The number of GPUs for a task, which is less than 1 if tasks share GPUs."""
        return float(self.setting(GPUS, "0"))

    @property
    def port(self) -> int:
        """The port at which the driver listens, or 0 for any free port."""
        text = self.setting(PORT, "0")
        port = whole_number(text, 0, _LAST_PORT)
        if port is None:
            raise DistributedError(f"{PORT} is '{text}'; give a port up to {_LAST_PORT}, or 0 for any")
        return port

    def await_slots(self, count: int) -> None:
        """Wait until Spark can run `count` tasks at once, since executors start one by one.

        Raises a `DistributedError` at once if Spark can never run that many.
        """
        most = self._most_slots()
        if most is not None and most < count:
            raise DistributedError(
                f"{count} workers need the same number of tasks at once, but this Spark has slots for at most "
                f"{most}; give it more cores, or train with fewer workers"
            )
        until = time.monotonic() + _SLOTS
        while (slots := self.slots()) < count:
            if time.monotonic() > until:
                raise DistributedError(
                    f"{count} workers need the same number of tasks at once, but Spark has slots for only "
                    f"{slots} after {_SLOTS:g} s; give it more executors or cores, or train with fewer workers"
                )
            time.sleep(_POLL)

    def _most_slots(self) -> int | None:
        """Return the largest number of tasks that can ever run at once, or `None` if Spark doesn't report it."""
        master, cores = self.setting("spark.master", ""), whole_number(self.setting("spark.cores.max", ""))
        instances, each = (whole_number(self.setting(f"spark.executor.{name}", "")) for name in ("instances", "cores"))
        local_cluster = re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]", master)
        if local_cluster is not None:
            return int(local_cluster[1]) * (int(local_cluster[2]) // self.task_cores)
        if master.startswith("local"):
            return self.slots()  # this process is its only executor
        if master.startswith("spark:"):
            return None if cores is None else cores // self.task_cores
        return None if instances is None or each is None else instances * (each // self.task_cores)

    def submit(self, size: int, work: Work, group: str) -> BarrierJob:
        """Begin a job of `size` tasks that run at once. Each task receives its number."""
        return BarrierJob(self._context, size, work, group)

    def slots(self) -> int:
        """Return the number of tasks that all present executors, busy or not, can run at once. Only the JVM knows
        it."""
        try:
            spark: Any = self._context._jsc.sc()
            return int(spark.maxNumConcurrentTasks(spark.resourceProfileManager().defaultResourceProfile()))
        except Exception as problem:
            raise DistributedError(
                f"Spark doesn't answer: {first_line(problem)}; check its address, and that its page at port 8080 opens"
            ) from None


class BarrierJob:
    """A barrier job, and the thread that waits for it."""

    def __init__(self, context: SparkContext, size: int, work: Work, group: str) -> None:
        self._context, self._size, self._work, self._group = context, size, work, group
        self._problem: Exception | None = None
        self._results: list[Any] = []
        self._thread = threading.Thread(target=self._run_job, name=group, daemon=True)
        self._thread.start()

    def has_ended(self, timeout: float = 0.0) -> bool:
        """Return whether the job has ended, after waiting for at most `timeout` seconds."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def problem(self) -> str:
        """Return the reason that the job failed, in Spark's words. Returns an empty string if it hasn't failed."""
        return "" if self._problem is None else reason_of(self._problem)

    def results(self) -> list[Any]:
        """Return the results of all tasks of a successful job."""
        return self._results

    def cancel(self) -> None:
        """Cancel the job, even if it hasn't begun yet."""
        until = time.monotonic() + _CANCEL
        while self._thread.is_alive() and time.monotonic() < until:
            with suppress(Exception):  # Spark may have stopped
                self._context.cancelJobGroup(self._group)
            self._thread.join(_POLL)

    def _run_job(self) -> None:
        try:
            self._context.setJobGroup(self._group, self._group, interruptOnCancel=True)
            parts = self._context.parallelize(range(self._size), self._size)
            self._results = parts.barrier().mapPartitions(self._work).collect()
        except Exception as problem:  # whatever it is, `problem` reports it
            self._problem = problem


def _without_brackets(host: str) -> str:
    """Return an address without the brackets in which Spark puts IPv6."""
    return host.removeprefix("[").removesuffix("]")


def first_line(problem: object) -> str:
    """Return the first line of one of Spark's errors."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0][:300]


def reason_of(problem: Exception) -> str:
    """Return the reason of an error, which is the line before Java's stack trace or before an SQL state's code."""
    java = getattr(problem, "java_exception", None)
    text = str(problem)
    with suppress(Exception):  # the JVM may have stopped
        text = str(java.getMessage()) if java is not None else text
    reason = type(problem).__name__
    for line in map(str.strip, text.splitlines()):
        if line.startswith(("at ", "SQLSTATE")):
            break
        reason = line or reason
    return reason[:300]


def local_rank(context: BarrierTaskContext, rank: int) -> int:
    """Return the number of tasks of a barrier job with lower ranks on this machine."""
    hosts = [info.address.rpartition(":")[0] for info in context.getTaskInfos()]
    return hosts[:rank].count(hosts[rank])


def assigned_gpus(context: TaskContext) -> tuple[str, ...]:
    """Return the addresses of the GPUs that Spark assigned to a task, following spark.task.resource.gpu.amount."""
    gpus = context.resources().get("gpu")
    return () if gpus is None else tuple(gpus.addresses)
