"""Starting a script's ranks: as processes of this machine, or as one of those that something else has started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from netdsl.distributed.launchers.external import ExternalLauncher, ExternalWorker, take_part
from netdsl.distributed.launchers.local import LocalLauncher, Shown
from netdsl.distributed.supervision.supervisor import watch
from netdsl.transparent.run_rank import ScriptPlan, run_rank
from netdsl.transparent.script import Script

COMMAND = [sys.executable, "-P", "-m", "netdsl.transparent.worker_process"]
_HASHES = "PYTHONHASHSEED"  # the order of sets of strings, which must be the same for all ranks


def run_locally(script: Script, folder: Path, *, workers: int, deadline: float) -> None:
    """Run a script as several processes of this machine, whose logs are in a folder."""
    plan = ScriptPlan(script, workers, workers, threads=_share_of_cores(workers), deadline=deadline)
    plan.save(folder)
    os.environ.setdefault(_HASHES, "0")
    shown = Shown.ALL if script.all_output else Shown.FIRST
    watch(folder, plan, LocalLauncher(COMMAND, shown))


def run_as_worker(script: Script, folder: Path, *, deadline: float) -> None:
    """Run a script as the worker that the environment describes; all meet in a folder that they share."""
    worker = ExternalWorker.of(os.environ)
    plan = ScriptPlan(script, worker.size, worker.local_size, _share_of_cores(worker.local_size), deadline)
    if worker.rank == 0:
        plan.save(folder)
    elif not script.all_output:
        _keep_output(folder / "logs" / f"worker-{worker.rank}.log")

    def supervise(launcher: ExternalLauncher) -> None:
        watch(folder, plan, launcher)

    take_part(folder, supervise, run_rank)


def _share_of_cores(workers: int) -> int:
    return max(1, (os.cpu_count() or 1) // workers)


def _keep_output(log: Path) -> None:
    """Let this process's standard output go to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
