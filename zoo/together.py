"""A training run with several workers, from a plan or from where it was left."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from netdsl.data.reading import Bad
from netdsl.distributed.local.backend import train as train_here
from netdsl.distributed.messages import Told
from netdsl.distributed.plan import Plan, settled
from netdsl.distributed.record import Record
from netdsl.distributed.records import EVENTS, RecordFile
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.errors import DistributedError
from netdsl.solver.events import Listener
from netdsl.solver.solver import Action, nothing_wanted
from zoo.logs.lines import Lines
from zoo.training import Run


def begin(run: Run, strategy: Strategy, workers: int, kept: Path) -> None:
    """Make the folder of a run that one worker could do as well. The machine's cores are divided among workers."""
    if run.snapshot is not None:
        raise DistributedError("a run of several workers goes on with --resume; --snapshot is for one worker")
    loading, cores = run.way.loading, max(1, (os.cpu_count() or 1) // workers)
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
    )
    settled(plan).save(kept)


def train(
    run: Path,
    *,
    listeners: Sequence[Listener] = (),
    restarted: Callable[[int, str], object] = lambda generation, why: None,
    requested: Callable[[], Action] = nothing_wanted,
) -> None:
    """Train the run that a folder has to its end, from its beginning or from where it was left."""
    with closing(RecordFile(run)) as keep, closing(Lines(run / EVENTS)) as log:
        everyone: list[Listener] = [log, *listeners]

        def told(what: Told) -> None:
            if isinstance(what, Record):
                keep(what)
                return
            for listener in everyone:
                listener(what)

        train_here(run, told=told, restarted=restarted, requested=requested)
