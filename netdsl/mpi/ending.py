"""How the ranks of a user's mpiexec end: all together, or all because one has failed."""

from __future__ import annotations

import atexit
import signal
import sys
import time

import numpy as np

from netdsl.mpi.library import mpi, world

PATIENCE = 60  # seconds for which the first rank waits for the others after its own part
_LAST_WORDS = 1.0  # seconds for mpiexec to pass on a rank's output
_DONE = 32_767  # the tag of the message that a rank is done; every MPI allows this number
_TRY = 0.01  # seconds between two tries


def end_with_the_others_at_exit() -> None:
    """Let this process, which is a rank of a user's mpiexec, end with the others.

    All ranks end with the command that they share. MPI alone would wait without end for a rank that is stopped, or
    whose machine is gone, and say nothing.
    """
    atexit.register(_end_with_the_others)


def end_all_ranks_at_exit() -> None:
    """Let mpiexec end all ranks when this process ends. The process has reported the problem by then."""
    atexit.register(_end_all_ranks)


def _end_with_the_others() -> None:
    if "mpi4py.MPI" not in sys.modules or mpi().Is_finalized():  # the command didn't use MPI, or a script has ended it
        return
    ranks = world()
    if ranks.rank:
        ranks.Send(np.empty(0), 0, _DONE)
        return
    awaited = {rank: ranks.Irecv(np.empty(0), rank, _DONE) for rank in range(1, ranks.size)}
    patient_until = time.monotonic() + PATIENCE
    while missing := [rank for rank, message in awaited.items() if not message.Test()]:
        if time.monotonic() > patient_until:
            sys.stderr.write(
                f"the first rank is done, but these ranks haven't ended within {PATIENCE} seconds after it: "
                f"{', '.join(map(str, missing))}; they are stopped, or their machines can't be reached, so all ranks "
                "end now\n"
            )
            _end_all_ranks()
        time.sleep(_TRY)
    signal.alarm(PATIENCE)  # ends the process if a rank is stopped in MPI's own last exchange


def _end_all_ranks() -> None:
    """End all ranks, after a pause in which mpiexec passes on this rank's output. It would drop the rest otherwise."""
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(_LAST_WORDS)
    world().Abort(1)
