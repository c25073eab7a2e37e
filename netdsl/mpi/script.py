"""Scripts for one process, run by the ranks that a user's mpiexec started."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from netdsl.distributed.control.place import Ports
from netdsl.distributed.launcher import log_of
from netdsl.distributed.launchers.external import ExternalLauncher
from netdsl.distributed.supervisor import watch
from netdsl.distributed.transports.transport import Transport
from netdsl.mpi.communicator import connect
from netdsl.mpi.launcher import take_part, this_rank
from netdsl.ranks import share_of_cores
from netdsl.transparent.launch import ScriptPlan, keep_output, run_rank
from netdsl.transparent.script import Script


def run_as_rank(
    script: Script,
    folder: Path | None,
    *,
    deadline: float,
    address: str | None = None,
    ports: Ports | None = None,
) -> None:
    """Run a script as this process's rank. Ranks other than the first print to files in the folder, if there is one.

    Ranks of other machines meet the first at an address and a port that the user may name.
    """
    rank = this_rank()
    plan = ScriptPlan(script, rank.size, Transport.MPI, share_of_cores(rank.local_size), deadline)
    if rank.rank and not script.all_output:
        keep_output(Path(os.devnull) if folder is None else log_of(folder, rank.rank))

    def supervise(launcher: ExternalLauncher) -> None:
        with TemporaryDirectory(prefix="zoo-run-") as temporary:
            watch(folder or Path(temporary), plan, launcher)

    take_part(supervise, partial(run_rank, plan=plan, connect=connect), address, ports)
