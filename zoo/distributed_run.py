"""A training run with several workers, from a plan or from where it was left."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from netdsl.data.batches.reading import Bad
from netdsl.distributed.chronicle import chronicle
from netdsl.distributed.launchers.local import train as train_here
from netdsl.distributed.messages import Told
from netdsl.distributed.plan import Plan, settled
from netdsl.distributed.record import RoundRecord
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.errors import DistributedError
from netdsl.model import store_for_workers
from netdsl.solver.events import Listener
from netdsl.solver.nets import find_file, split_names, train_net
from netdsl.solver.solver import Action, nothing_wanted
from netdsl.spark.session import open_session, task_cores
from netdsl.spark.workers.train import train as train_on_spark
from netdsl.spark.workers.transport import Transport
from zoo.training import Run


class Backend(Enum):
    """What brings workers to life."""

    LOCAL = "local"
    SPARK = "spark"


@dataclass(frozen=True)
class Placement:
    """Which backend has the workers; Spark's is at a master."""

    backend: Backend = Backend.LOCAL
    master: str | None = None  # if none is named, that of spark-submit, or else this machine
    transport: Transport | None = None  # if none is named, one that works there

    def cores(self, workers: int) -> int:
        """How many each worker has: its part of this machine, or as many as Spark gives a task."""
        return max(1, (os.cpu_count() or 1) // workers) if self.backend is Backend.LOCAL else task_cores()

    def master_for(self, workers: int) -> str:
        """Where Spark is; empty if spark-submit says so."""
        if self.master is not None:
            return self.master
        return "" if "PYSPARK_GATEWAY_PORT" in os.environ else f"local[{workers}]"


HERE = Placement()


def begin(run: Run, strategy: Strategy, workers: int, kept: Path, where: Placement = HERE) -> None:
    """Make the folder of a run that one worker could do as well."""
    if run.snapshot is not None:
        raise DistributedError("a run of several workers goes on with --resume; --snapshot is for one worker")
    loading, cores = run.way.loading, where.cores(workers)
    plan = Plan(
        run.param,
        strategy,
        workers,
        folder=str(run.folder or "."),
        weights=tuple(map(str, run.weights)),
        devices=tuple(map(str, run.devices or (run.way.device,))),
        precision=str(run.way.precision).removeprefix("torch."),
        compiled=run.way.compiled,
        decoders=min(loading.workers, cores),
        skip_bad=loading.bad is Bad.SKIP,
        threads=cores,
        tables=run.tables,
    )
    plan = settled(plan)
    if not (kept / "run.json").exists():  # saving refuses a folder that has a run already
        names = [find_file(name, run.folder) for name in split_names(plan.weights)]
        plan = replace(plan, weights=store_for_workers(names, train_net(plan.param), kept))
    plan.save(kept)


def train(
    run: Path,
    *,
    listeners: Sequence[Listener] = (),
    restarted: Callable[[int, str], object] = lambda generation, why: None,
    note: Callable[[str], object] = lambda note: None,
    requested: Callable[[], Action] = nothing_wanted,
    where: Placement = HERE,
) -> None:
    """Train the run that a folder has to its end, from its beginning or from where it was left."""
    with chronicle(run) as write:

        def told(what: Told) -> None:
            write(what)
            if not isinstance(what, RoundRecord):
                for listener in listeners:
                    listener(what)

        if where.backend is Backend.LOCAL:
            train_here(run, told=told, restarted=restarted, requested=requested)
            return
        with open_session(where.master_for(Plan.load(run).size)) as session:
            train_on_spark(
                run,
                session,
                transport=where.transport,
                note=note,
                told=told,
                restarted=restarted,
                requested=requested,
            )
