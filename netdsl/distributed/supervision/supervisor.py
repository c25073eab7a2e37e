"""The supervisor: watches a run's workers over the control channel, and begins again from the journal if it must."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from netdsl.distributed.launchers.launcher import Launcher
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import Told
from netdsl.distributed.supervision.attempt import Attempt, Supervised
from netdsl.distributed.supervision.retries import RETRIES, End, Retries
from netdsl.errors import DistributedError
from netdsl.solver.events import Action, no_action


def train(
    folder: Path,
    launcher: Launcher,
    *,
    told: Callable[[Told], object] = lambda told: None,
    on_restart: Callable[[int, str], object] = lambda attempt, reason: None,
    note: Callable[[str], object] = lambda note: None,
    requested: Callable[[], Action] = no_action,
    retries: int = RETRIES,
) -> End:
    """Train the run that a folder has, from its beginning or from where it was left.

    `told` gets the workers' events and records. When a worker is lost, `on_restart` is told the number of the next
    attempt and why, and all workers begin again from the journal; the run fails after so many attempts without a round
    done in between. Where the launcher can't start workers again the run fails at once, and says how to go on. `note`
    is told what a user should know before training begins.
    """
    folder = folder.resolve()
    run = launcher.prepare(folder, Run.load(folder), note)
    run.save(folder, again=True)
    attempts = Retries(lambda: requested() is Action.STOP, retries)

    def attempt(number: int) -> str | None:
        reason = Attempt(folder, run, launcher, launcher.room(run), attempts, told).follow()
        if reason is not None and not launcher.restarts and not attempts.stopping():
            raise DistributedError(f"{reason}; to go on, start the workers again with --resume {folder}")
        return reason

    return attempts.run(attempt, on_restart)


def watch(folder: Path, work: Supervised, launcher: Launcher) -> None:
    """Start the workers of something that can't go on when one is lost, and watch them to the end."""
    retries = Retries(lambda: False, 0)
    reason = Attempt(folder.resolve(), work, launcher, work.workers, retries, lambda told: None).follow()
    if reason is not None:
        raise DistributedError(reason)
