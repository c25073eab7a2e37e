"""The ranks of a user's mpiexec end, also if one of them is stopped when the command is done."""

from __future__ import annotations

import os
import subprocess
import sys

from netdsl.mpi.installation import SETTINGS, mpiexec
from tests.patience import PATIENCE

PROGRAM = """
import atexit
import os
import signal
import sys
import zoo.cli
from netdsl.mpi import ending
from netdsl.mpi.library import forget_shared_memory, world

forget_shared_memory()
rank = world().rank

def stop():
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)

ending.PATIENCE = int(sys.argv[2])
sys.argv[1:], when = ["--version"], sys.argv[1]
if when == "in MPI":
    atexit.register(stop)  # runs after the functions that the command registers
try:
    zoo.cli.main()
finally:
    if when == "at the end":
        stop()
"""


def ended(when: str, patience: int) -> subprocess.CompletedProcess[str]:
    """Return how two ranks ended of which one stops."""
    words = [mpiexec(), "-n", "2", sys.executable, "-c", PROGRAM, when, str(patience)]
    variables = {**SETTINGS, **os.environ}
    return subprocess.run(words, env=variables, capture_output=True, text=True, check=False, timeout=4 * PATIENCE)


def test_the_first_rank_names_a_stopped_one_and_ends_all() -> None:
    done = ended("at the end", 2)
    assert done.returncode
    assert done.stderr.startswith(
        "the first rank is done, but these ranks haven't ended within 2 seconds after it: 1; they are stopped"
    )


def test_a_rank_that_is_stopped_in_mpi_itself_does_not_hold_the_first() -> None:
    done = ended("in MPI", 5)
    assert done.returncode
    assert "the first rank is done" not in done.stderr


def test_ranks_that_end_need_no_patience() -> None:
    done = ended("never", 60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("zoo, version") == 2
