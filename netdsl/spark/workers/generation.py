"""One barrier job whose tasks are the workers: it is followed to its end, good or bad."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from netdsl.distributed.plan import Plan
from netdsl.distributed.supervision.control_server import Message
from netdsl.distributed.supervision.health import Ending, Health
from netdsl.distributed.supervision.heartbeat import Sign
from netdsl.errors import DistributedError
from netdsl.spark.cluster import Cluster
from netdsl.spark.workers.serving import serving
from netdsl.spark.workers.task import work
from netdsl.spark.workers.transport import Transport

_LOOK = 0.2  # seconds between two looks
_GRACE = 1.0  # seconds for others to say what they saw when something went wrong
_LEAVE = 30.0  # seconds for Spark to end a job whose tasks are done


class Generation:
    """All tasks of one attempt. Leaving it ends them."""

    def __init__(self, cluster: Cluster, run: Path, plan: Plan, transport: Transport) -> None:
        cluster.await_slots(plan.size)
        self._health, self._stopping = Health(plan.size, plan.deadline), False
        with ExitStack() as stack:
            self._hub, place = stack.enter_context(serving(cluster, run, plan.size, transport))
            self._job = cluster.submit(plan.size, partial(work, place.text()), f"netdsl {run.name} {place.token[:8]}")
            stack.callback(self._job.cancel)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def follow(self, hear: Callable[[Message], object], stop: Callable[[], bool]) -> str | None:
        """Hand on what workers tell until all have come to a good end, or one hasn't; then, why."""
        while not self._health.all_done():
            self._take(hear, _LOOK)
            if stop() and not self._stopping:
                self._stopping = True
                self._hub.send({"stop": True})
            why = self._health.silence()
            if why:
                return why
            if self._health.blame() or self._job.ended():
                return self._blame(hear)
        self._job.ended(_LEAVE)
        return None

    def _blame(self, hear: Callable[[Message], object]) -> str | None:
        """What workers and Spark say about it, for which they have a moment."""
        until = time.monotonic() + _GRACE
        while time.monotonic() < until and not self._health.all_done():
            self._take(hear, _LOOK)
        if self._health.all_done():
            return None
        spark = self._job.problem()
        said = [self._health.blame(), f"Spark says: {spark}" if spark else ""]
        return "; ".join(filter(None, said)) or "Spark ended the job before its workers were done"

    def _take(self, hear: Callable[[Message], object], patience: float) -> None:
        match self._hub.next(patience):
            case rank, None:
                self._health.note_end(rank, Ending.GONE, "ended without a word")
            case rank, {"host": host}:
                self._health.welcome(rank, host)
                if self._stopping:
                    self._hub.send({"stop": True})
            case rank, {"sign": sign}:
                self._health.note_sign(rank, Sign(sign))
            case rank, {"done": _}:
                self._health.note_end(rank, Ending.DONE)
            case rank, {"lost": why}:
                self._health.note_end(rank, Ending.LOST, f"lost another: {why}")
            case rank, {"crash": why}:
                self._health.note_end(rank, Ending.CRASHED, f"crashed: {why}")
            case rank, {"error": why}:  # it found this itself, and would again
                raise DistributedError(f"{self._health.name(rank)}: {why}")
            case _, {"told": message}:
                hear(message)
