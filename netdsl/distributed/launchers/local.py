"""A run with processes on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from netdsl.distributed.launchers.local_worker_spec import LocalWorkerSpec
from netdsl.distributed.messages import Told, told_by
from netdsl.distributed.plan import Plan
from netdsl.distributed.record import RoundRecord
from netdsl.distributed.supervision import supervisor
from netdsl.distributed.supervision.retries import RETRIES, End
from netdsl.distributed.supervision.supervisor import Care
from netdsl.solver.solver import Action, no_action


def train(
    run: Path,
    *,
    told: Callable[[Told], object] = lambda told: None,
    restarted: Callable[[int, str], object] = lambda generation, why: None,
    requested: Callable[[], Action] = no_action,
    retries: int = RETRIES,
) -> End:
    """Train the run that a folder has, from its beginning or from where it was left.

    When a worker is lost, `restarted` is told which generation begins and why, and all begin again from the journal;
    that many times without a round done in between the run fails.
    """
    plan = Plan.load(run)

    def command_of(place: LocalWorkerSpec) -> Sequence[str]:
        return [sys.executable, "-m", "netdsl.distributed.launchers.worker_process", str(run), place.text()]

    def heard(rank: int, message: dict[str, Any]) -> bool:
        what = told_by(message)
        told(what)
        return isinstance(what, RoundRecord)

    def wanted() -> bool:
        return requested() is Action.STOP

    care = Care(deadline=plan.deadline, retries=retries)
    return supervisor.run(
        command_of, plan.size, run / "logs", care=care, heard=heard, restarted=restarted, wanted=wanted
    )
