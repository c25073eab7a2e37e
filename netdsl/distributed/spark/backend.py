"""A run whose workers are tasks of Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from netdsl.distributed.local.supervisor import End
from netdsl.distributed.messages import Told, told_by
from netdsl.distributed.plan import Plan
from netdsl.distributed.record import Record
from netdsl.distributed.spark.cluster import Cluster
from netdsl.distributed.spark.generation import Generation
from netdsl.distributed.spark.hub import Message
from netdsl.distributed.spark.preflight import check
from netdsl.distributed.spark.transport import Transport, remember
from netdsl.errors import DistributedError
from netdsl.solver.solver import Action, nothing_wanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RETRIES = 3  # without a round done in between


def train(
    run: Path,
    session: SparkSession,
    *,
    transport: Transport | None = None,
    note: Callable[[str], object] = lambda note: None,
    told: Callable[[Told], object] = lambda told: None,
    restarted: Callable[[int, str], object] = lambda generation, why: None,
    requested: Callable[[], Action] = nothing_wanted,
    retries: int = RETRIES,
) -> End:
    """Train the run that a folder has, from its beginning or from where it was left, in tasks of one barrier job.

    The folder, and the data, must be on storage that all executors see at the same path. If no transport is named it
    is the one that the run was begun with; else peers where they reach each other, and where they don't the driver,
    of which there is a note. When a worker is lost, `restarted` is told which generation begins and why, and a new job
    goes on from the journal; that many times without a round done in between the run fails.
    """
    run, cluster = run.resolve(), Cluster(session)
    transport = check(cluster, run, Plan.load(run).size, transport, note)
    return carry_out(run, cluster, transport, told=told, restarted=restarted, requested=requested, retries=retries)


def carry_out(
    run: Path,
    cluster: Cluster,
    transport: Transport,
    *,
    told: Callable[[Told], object],
    restarted: Callable[[int, str], object],
    requested: Callable[[], Action] = nothing_wanted,
    retries: int = RETRIES,
) -> End:
    """The same on a cluster that was found fit for it."""
    plan, course = Plan.load(run), _Course(told, requested)
    remember(run, transport)
    for number in count():
        with Generation(cluster, run, plan, transport) as generation:
            why = generation.follow(course.hear, course.stop)
        if not why or course.stop():
            break
        course.note_failure(why, retries)
        restarted(number + 1, why)
    return End.STOPPED if course.stop() else End.FINISHED


@dataclass
class _Course:
    """What lasts from generation to generation."""

    told: Callable[[Told], object]
    requested: Callable[[], Action]
    failures: int = 0  # since the last round done
    stopping: bool = False

    def hear(self, message: Message) -> None:
        """Hand on what a worker tells."""
        what = told_by(message)
        if isinstance(what, Record):
            self.failures = 0
        self.told(what)

    def stop(self) -> bool:
        """Whether somebody wants to stop, which is only said once."""
        self.stopping = self.stopping or self.requested() is Action.STOP
        return self.stopping

    def note_failure(self, why: str, retries: int) -> None:
        """One more, or one too many."""
        self.failures += 1
        if self.failures > retries:
            times = f"{self.failures} times " if self.failures > 1 else ""
            raise DistributedError(f"training failed {times}without progress: {why}")
