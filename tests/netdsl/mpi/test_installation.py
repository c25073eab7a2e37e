"""Whether the MPI that is installed works, tried out with ranks that find each other and with ones that don't."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")

PROBE = "import json; from dataclasses import asdict; from netdsl.mpi.installation import mpi_installation as m; "


def installation(change: str = "pass") -> dict[str, str]:
    """What is found in a process of its own, since mpi4py's library begins with the process."""
    program = f"{PROBE}{change}; print(json.dumps(asdict(m())))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_two_ranks_find_each_other() -> None:
    found = installation()
    assert found["problem"] == ""
    assert found["library"].startswith(found["program_kind"])


def test_an_mpiexec_of_another_mpi_is_told(tmp_path: Path) -> None:
    """Its ranks are started, but without what the library needs to know, so that each is the first and only one."""
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
