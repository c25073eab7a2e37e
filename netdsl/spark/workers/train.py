"""A run whose workers are tasks of Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from netdsl.distributed.messages import Told, told_by
from netdsl.distributed.plan import Plan
from netdsl.distributed.record import RoundRecord
from netdsl.distributed.supervision.control_server import Message
from netdsl.distributed.supervision.retries import RETRIES, End, Retries
from netdsl.solver.solver import Action, no_action
from netdsl.spark.cluster import Cluster
from netdsl.spark.workers.generation import Generation
from netdsl.spark.workers.preflight import check
from netdsl.spark.workers.transport import Transport, remember

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def train(
    run: Path,
    session: SparkSession,
    *,
    transport: Transport | None = None,
    note: Callable[[str], object] = lambda note: None,
    told: Callable[[Told], object] = lambda told: None,
    restarted: Callable[[int, str], object] = lambda generation, why: None,
    requested: Callable[[], Action] = no_action,
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
    requested: Callable[[], Action] = no_action,
    retries: int = RETRIES,
) -> End:
    """The same on a cluster that was found fit for it."""
    plan, course = Plan.load(run), Retries(lambda: requested() is Action.STOP, retries)
    remember(run, transport)

    def hear(message: Message) -> None:
        what = told_by(message)
        if isinstance(what, RoundRecord):
            course.progress()
        told(what)

    def attempt(number: int) -> str | None:
        with Generation(cluster, run, plan, transport) as generation:
            return generation.follow(hear, course.stopping)

    return course.follow(attempt, restarted)
