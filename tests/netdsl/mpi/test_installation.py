"""Checking whether the installed MPI works, with ranks that find each other and with ranks that don't."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")

PROBE = "import json; from dataclasses import asdict; from netdsl.mpi.installation import mpi_installation as m; "


def installation(change: str = "pass") -> dict[str, str]:
    """Check the installation in a separate process, since importing mpi4py initializes MPI."""
    program = f"{PROBE}{change}; print(json.dumps(asdict(m())))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_two_ranks_find_each_other() -> None:
    found = installation()
    assert found["problem"] == ""
    assert found["library"].startswith(found["program_kind"])


def test_an_mpiexec_of_another_mpi_is_reported(tmp_path: Path) -> None:
    """It starts the ranks, but without the settings that the library needs, so that each is the first and only rank."""
    other = tmp_path / "mpiexec"
    other.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "mpiexec (OpenRTE) 4.1" && exit\nshift 2\n"$@"\n"$@"\n')
    other.chmod(0o755)
    found = installation(f"import netdsl.mpi.installation as i; i.mpiexec = lambda: '{other}'")
    assert found["problem"].startswith(f"{other} belongs to Open MPI, but mpi4py loads ")
    assert found["problem"].endswith("so each rank is alone")


def test_an_mpiexec_that_fails_is_quoted(tmp_path: Path) -> None:
    other = tmp_path / "mpiexec"
    other.write_text("#!/bin/sh\necho 'There are not enough slots'; exit 1\n")
    other.chmod(0o755)
    found = installation(f"import netdsl.mpi.installation as i; i.mpiexec = lambda: '{other}'")
    assert found["problem"] == f"{other} doesn't start two ranks: There are not enough slots"
