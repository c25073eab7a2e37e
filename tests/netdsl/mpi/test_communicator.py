"""Exchanges between ranks of a real mpiexec."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netdsl.mpi.installation import SETTINGS, mpiexec

PROGRAM = Path(__file__).with_name("exchanges.py")
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("ranks", [2, 3])
def test_exchanges_are_exact(ranks: int) -> None:
    """Means have the same bits as over every other transport, and close values across machines. No update of a variable
    is lost."""
    command = [mpiexec(), "-n", str(ranks), sys.executable, str(PROGRAM)]
    environment = {**SETTINGS, **os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "right\n" * 2 * ranks), done.stderr
