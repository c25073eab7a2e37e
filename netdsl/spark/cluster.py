"""What is asked of a Spark session: its address and slots, and barrier jobs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from netdsl.errors import DistributedError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

Work = Callable[[Iterable[int]], Iterable[Any]]

PORT = "spark.netdsl.port"  # the setting that says where the driver listens
_LAST_PORT = 65535
_SLOTS = 60.0  # seconds for executors to come, or to come back
_CANCEL = 30.0  # seconds for Spark to end a job
_NAP = 0.2  # seconds between two looks


class Cluster:
    """Spark as the driver sees it."""

    def __init__(self, session: SparkSession) -> None:
        try:
            self._context: SparkContext = session.sparkContext
        except Exception as problem:  # Spark Connect has no such thing
            raise DistributedError(
                f"barrier jobs need a classic Spark session, not one of Spark Connect ({first_line(problem)})"
            ) from None

    def setting(self, name: str, default: str) -> str:
        """One of Spark's settings."""
        return str(self._context.getConf().get(name, default))

    @property
    def host(self) -> str:
        """The address by which executors reach the driver."""
        return self.setting("spark.driver.host", "localhost")

    @property
    def bound(self) -> str:
        """The address that the driver listens at."""
        return self.setting("spark.driver.bindAddress", self.host)

    @property
    def task_cores(self) -> int:
        """How many cores a task has."""
        return int(self.setting("spark.task.cpus", "1"))

    @property
    def port(self) -> int:
        """The port that the driver listens at; 0 for any."""
        text = self.setting(PORT, "0")
        if not (text.isdecimal() and int(text) <= _LAST_PORT):
            raise DistributedError(f"{PORT} is '{text}'; give a port up to {_LAST_PORT}, or 0 for any")
        return int(text)

    def await_slots(self, wanted: int) -> None:
        """Wait until Spark could run so many tasks at once, for executors come one by one."""
        until = time.monotonic() + _SLOTS
        while (found := self.slots()) < wanted:
            if time.monotonic() > until:
                raise DistributedError(
                    f"{wanted} workers need as many tasks at once, and Spark has slots for {found} after {_SLOTS:g} s; "
                    "give it more executors or cores, or train with fewer workers"
                )
            time.sleep(_NAP)

    def submit(self, size: int, work: Work, group: str) -> BarrierJob:
        """Begin a job of so many tasks that run at once; each is given its number."""
        return BarrierJob(self._context, size, work, group)

    def slots(self) -> int:
        """How many tasks fit at once on all executors that are there, busy or not. Only Spark's own side knows."""
        try:
            spark: Any = self._context._jsc.sc()
            return int(spark.maxNumConcurrentTasks(spark.resourceProfileManager().defaultResourceProfile()))
        except Exception as problem:
            raise DistributedError(f"Spark doesn't answer: {first_line(problem)}") from None


class BarrierJob:
    """A barrier job, held by a thread."""

    def __init__(self, context: SparkContext, size: int, work: Work, group: str) -> None:
        self._context, self._size, self._work, self._group = context, size, work, group
        self._problem: Exception | None = None
        self._results: list[Any] = []
        self._thread = threading.Thread(target=self._run, name=group, daemon=True)
        self._thread.start()

    def ended(self, timeout: float = 0.0) -> bool:
        """Whether it ends within so many seconds."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def problem(self) -> str:
        """Why it failed, in Spark's words, if it has."""
        return "" if self._problem is None else _words(self._problem)

    def results(self) -> list[Any]:
        """What the tasks of a job that ended well gave."""
        return self._results

    def cancel(self) -> None:
        """End it, also where it is about to begin."""
        until = time.monotonic() + _CANCEL
        while self._thread.is_alive() and time.monotonic() < until:
            with suppress(Exception):  # of a Spark that is no more
                self._context.cancelJobGroup(self._group)
            self._thread.join(_NAP)

    def _run(self) -> None:
        try:
            self._context.setJobGroup(self._group, self._group, interruptOnCancel=True)
            parts = self._context.parallelize(range(self._size), self._size)
            self._results = parts.barrier().mapPartitions(self._work).collect()
        except Exception as problem:  # whatever it is, who watches the job tells it
            self._problem = problem


def first_line(problem: object) -> str:
    """A problem of Spark's, short."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0][:300]


def _words(problem: Exception) -> str:
    """The line before the first of Java's calls, or before SQL's number for it, says what it was."""
    java = getattr(problem, "java_exception", None)
    text = str(problem)
    with suppress(Exception):  # Java may be gone
        text = str(java.getMessage()) if java is not None else text
    found = type(problem).__name__
    for line in map(str.strip, text.splitlines()):
        if line.startswith(("at ", "SQLSTATE")):
            break
        found = line or found
    return found[:300]
