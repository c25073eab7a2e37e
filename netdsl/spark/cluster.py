"""The cluster of a Spark session: its settings, its slots, and barrier jobs on it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from caffe_proto.whole_numbers import whole_number
from netdsl.data.tables.arrow import arrow
from netdsl.distributed.control.place import NetworkPlace, Ports
from netdsl.errors import DistributedError
from netdsl.spark.kinds import kind_of

if TYPE_CHECKING:
    from pyspark import BarrierTaskContext, TaskContext
    from pyspark.sql import SparkSession


Work = Callable[[int], Iterable[str]]  # of the task with a number

PORT = "spark.netdsl.port"  # the setting for the driver's port
GPUS = "spark.task.resource.gpu.amount"  # the setting for the number of GPUs, or the fraction of one, for a task
_FIELDS = "result string"
_LAST_PORT = 65535
_SLOTS = 120.0  # seconds for executors to start or restart
_CANCEL = 30.0  # seconds for Spark to cancel a job
_POLL = 0.2  # seconds between two polls


class Cluster:
    """A Spark cluster, as this process sees it."""

    def __init__(self, session: SparkSession) -> None:
        self._session, self._kind = session, kind_of(session)
        self._kind.run_in_this_python()

    def setting(self, name: str, default: str) -> str:
        """Return the value of one of Spark's settings."""
        return self._kind.setting(name, default)

    @property
    def place(self) -> NetworkPlace:
        """The place at which this process listens, and at which executors reach it."""
        return self._kind.place(self.ports)

    @property
    def task_cores(self) -> int:
        """The number of cores for a task."""
        return int(self.setting("spark.task.cpus", "1"))

    @property
    def task_gpus(self) -> float:
        """The number of GPUs for a task, which is less than 1 if tasks share GPUs."""
        return float(self.setting(GPUS, "0"))

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of which this process listens at the first free one. 0 stands for any port."""
        text = self.setting(PORT, "0")
        if text == "0":
            return (0,)
        try:
            ports = Ports.parse(text)
        except DistributedError:
            raise DistributedError(
                f"{PORT} is '{text}'; give a port up to {_LAST_PORT}, a range such as 5000-5010, or 0 for any"
            ) from None
        return tuple(range(ports.first, ports.last + 1))

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
                    f"{slots} after {_SLOTS:g} s; give it more executors or cores, train with fewer workers, or name "
                    "an address of the driver that all executors reach in spark.driver.host"
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

    def submit(self, size: int, work: Work, name: str) -> BarrierJob:
        """Begin a job of `size` tasks that run at once. Each task receives its number."""
        return BarrierJob(self._session, size, work, name)

    def slots(self) -> int:
        """Return the number of tasks that all present executors, busy or not, can run at once."""
        try:
            return self._kind.cores() // self.task_cores
        except Exception as problem:
            raise DistributedError(
                f"Spark doesn't answer: {first_line(problem)}; check its address, and that its page at port 8080 opens"
            ) from None


class BarrierJob:
    """A barrier job, and the thread that waits for it."""

    def __init__(self, session: SparkSession, size: int, work: Work, name: str) -> None:
        self._session, self._size, self._work = session, size, work
        self._tag = name.replace(",", " ")  # Spark's tags have no commas
        self._problem: Exception | None = None
        self._results: list[str] = []
        self._thread = threading.Thread(target=self._run_job, name=name, daemon=True)
        self._thread.start()

    def has_ended(self, timeout: float = 0.0) -> bool:
        """Return whether the job has ended, after waiting for at most `timeout` seconds."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def problem(self) -> str:
        """Return the reason that the job failed, in Spark's words. Returns an empty string if it hasn't failed."""
        return "" if self._problem is None else reason_of(self._problem)

    def results(self) -> list[str]:
        """Return the results of all tasks of a successful job."""
        return self._results

    def cancel(self) -> None:
        """Cancel the job, even if it hasn't begun yet."""
        until = time.monotonic() + _CANCEL
        while self._thread.is_alive() and time.monotonic() < until:
            with suppress(Exception):  # Spark may have stopped
                self._session.interruptTag(self._tag)
            self._thread.join(_POLL)

    def _run_job(self) -> None:
        try:
            self._session.addTag(self._tag)  # to the jobs of this thread
            numbers = self._session.range(0, self._size, numPartitions=self._size)
            rows = numbers.mapInArrow(partial(_run_in_task, self._work), _FIELDS, barrier=True).collect()
            self._results = [row["result"] for row in rows]
        except Exception as problem:  # whatever it is, `problem` reports it
            self._problem = problem


def _run_in_task(work: Work, batches: Iterable[Any]) -> Iterator[Any]:
    """Do the work of a task, whose only row is its number."""
    (rank,) = chain.from_iterable(batch.column(0).to_pylist() for batch in batches)
    yield arrow().RecordBatch.from_pydict({"result": arrow().array(list(work(rank)), arrow().string())})


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
    return reason.partition(" Consider setting '")[0][:300]  # what Spark suggests for debugging


def local_rank(context: BarrierTaskContext, rank: int) -> int:
    """Return the number of tasks of a barrier job with lower ranks on this machine."""
    hosts = [info.address.rpartition(":")[0] for info in context.getTaskInfos()]
    return hosts[:rank].count(hosts[rank])


def assigned_gpus(context: TaskContext) -> tuple[str, ...]:
    """Return the addresses of the GPUs that Spark assigned to a task, following spark.task.resource.gpu.amount."""
    gpus = context.resources().get("gpu")
    return () if gpus is None else tuple(gpus.addresses)
