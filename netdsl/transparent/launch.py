"""Starting a script's ranks: as processes of this machine, or as one of those that something else has started."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from netdsl.distributed.launcher import log_of
from netdsl.distributed.launchers.external import ExternalLauncher, ExternalWorker, take_part
from netdsl.distributed.launchers.local import LocalLauncher, Shown
from netdsl.distributed.supervisor import watch
from netdsl.distributed.transports.transport import Transport, is_memory_shareable
from netdsl.ranks import share_of_cores
from netdsl.transparent.run_rank import ScriptPlan, run_rank
from netdsl.transparent.script import Script

COMMAND = [sys.executable, "-P", "-m", "netdsl.transparent.worker_process"]
_HASHES = "PYTHONHASHSEED"  # the order of sets of strings, which must be the same for all ranks


def run_locally(script: Script, folder: Path, *, workers: int, deadline: float) -> None:
    """Run a script as several processes of this machine, whose logs are in a folder."""
    plan = ScriptPlan(script, workers, _transport(workers, workers), share_of_cores(workers), deadline)
    plan.save(folder)
    os.environ.setdefault(_HASHES, "0")
    shown = Shown.ALL if script.all_output else Shown.FIRST
    watch(folder, plan, LocalLauncher(COMMAND, shown))


def run_as_worker(script: Script, folder: Path, *, deadline: float) -> None:
    """Run a script as the worker that the environment describes; all meet in a folder that they share."""
    worker = ExternalWorker.of(os.environ)
    transport, cores = _transport(worker.size, worker.local_size), share_of_cores(worker.local_size)
    plan = ScriptPlan(script, worker.size, transport, cores, deadline)
    if worker.rank and not script.all_output:
        keep_output(log_of(folder, worker.rank))

    def supervise(launcher: ExternalLauncher) -> None:
        plan.save(folder)  # which makes the folder where the others look for the launcher's word
        watch(folder, plan, launcher)

    take_part(folder, supervise, partial(run_rank, plan=plan))


def _transport(workers: int, per_machine: int) -> Transport:
    """How ranks exchange buffers in main memory, wherever the script's tensors are."""
    is_one_machine = workers == per_machine and is_memory_shareable()
    return Transport.SHARED_MEMORY if is_one_machine else Transport.GLOO


def keep_output(log: Path) -> None:
    """Let this process's standard output go to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
