"""mpiexec with one rank on each host of a laboratory. It runs at the switch and enters the hosts with a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from netdsl.mpi.installation import SETTINGS, mpiexec
from tests.hosts.laboratory import Laboratory, Program


def start_mpiexec(
    laboratory: Laboratory, program: Sequence[str], output: Path, environment: Mapping[str, str] | None = None
) -> Program:
    """Start a program as one rank on each host, in the order of hosts."""
    shell = laboratory.write_remote_shell(laboratory.folder / "remote_shell")
    words = [mpiexec(), "-localhost", laboratory.address, "-launcher", "ssh", "-launcher-exec", str(shell)]
    words += ["-hosts", ",".join(host.name for host in laboratory.hosts), "-n", str(len(laboratory.hosts))]
    interface = {"UCX_NET_DEVICES": laboratory.hosts[0].interface}  # MPICH would take the first one
    return laboratory.start_at_switch([*words, *program], output, {**SETTINGS, **interface, **(environment or {})})
