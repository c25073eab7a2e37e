"""One worker's whole part of a run, whatever brought it to life."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from netdsl.distributed.communicator import Communicator
from netdsl.distributed.journal import Journal
from netdsl.distributed.loop import Loop
from netdsl.distributed.messages import Told
from netdsl.distributed.open_worker import compute_threads, open_worker
from netdsl.distributed.plan import Plan
from netdsl.solver.solver import Action, ignore_event, no_action
from netdsl.weights.files import save_net

MODEL = "model.caffemodel"


def run_worker(
    run: Path,
    communicator: Communicator,
    tell: Callable[[Told], None],
    wanted: Callable[[], Action] = no_action,
) -> None:
    """Train as the plan of a run says, from where its journal is.

    Every worker tells its records; the first one also tells of events, and saves the model at the end.
    """
    plan = Plan.load(run)
    journal = Journal(run / "rounds", plan.keeping)
    listen = tell if communicator.rank == 0 else ignore_event
    with compute_threads(plan.threads), open_worker(plan, communicator, listen=listen) as worker:
        loop = Loop(worker, plan.strategy, journal=journal, told=tell, wanted=wanted)
        loop.run()
        if worker.rank == 0 and not loop.stopped:
            worker.weights.copy_(loop.course.model())
            save_net(worker.solver.net.built, run / MODEL)
