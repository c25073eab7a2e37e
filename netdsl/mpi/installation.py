"""The installed MPI: the program that starts ranks, the library that mpi4py loads, and a check that they fit
together."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from caffe_proto.errors import MissingExtraError, import_extra
from netdsl.errors import DistributedError

SETTINGS = {  # by default, Open MPI needs a core for each rank, and refuses to run as root
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
_KINDS = {  # patterns that identify each library's mpiexec by its version text
    "Open MPI": re.compile(r"Open ?MPI|OpenRTE|PRRTE|prterun", re.IGNORECASE),
    "Intel MPI": re.compile(r"Intel\(R\) MPI", re.IGNORECASE),
    "MPICH": re.compile(r"HYDRA|MPICH", re.IGNORECASE),
}
_COUNT_RANKS = "from netdsl.mpi.library import world; print(f'ranks: {world().size}')"
_RANKS = re.compile(r"ranks: (\d)")  # the output of two ranks, which may be on one line
_LIMIT = 20.0  # seconds for mpiexec to print its version, or to start two ranks
# Prefixes of variables that mpiexec sets for a rank.
_FROM_MPIEXEC = ("PMI_", "PMIX_", "OMPI_", "PRTE_", "HYDI_", "MPI_LOCAL")


@dataclass(frozen=True)
class MpiInstallation:
    """The library that mpi4py loads, the mpiexec that netdsl starts, and their problem when used together, if any."""

    library: str
    program: str
    program_kind: str
    problem: str = ""


def mpiexec() -> str:
    """Return the mpiexec next to this Python, which an MPI package installs, or otherwise the first one on the path."""
    next_to_python = Path(sys.executable).with_name("mpiexec")
    program = str(next_to_python) if next_to_python.exists() else shutil.which("mpiexec")
    if program is None:
        raise MissingExtraError("mpiexec wasn't found; run pip install 'netdsl[mpi]', or load your cluster's MPI")
    return program


def mpi_installation() -> MpiInstallation:
    """Return the installed MPI, after a trial with two ranks. Doesn't start MPI in this process."""
    library, program = _loaded_library(), mpiexec()
    kind = _kind_of(_output_of(program, "--version"))
    output = _output_of(program, "-n", "2", sys.executable, "-P", "-c", _COUNT_RANKS)
    return MpiInstallation(library, program, kind, _why_ranks_dont_meet(library, program, kind, output))


def _loaded_library() -> str:
    """Return the name and version of the library that mpi4py loads when it is imported."""
    import_extra("mpi4py", "mpi", "MPI needs mpi4py and an MPI library").rc.initialize = False
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        raise DistributedError(
            f"mpi4py finds no MPI library: {problem}; run pip install 'netdsl[mpi]', or load your cluster's MPI"
        ) from None
    name, version = MPI.get_vendor()
    return f"{name} {'.'.join(map(str, version))}"


def _kind_of(version: str) -> str:
    return next((kind for kind, words in _KINDS.items() if words.search(version)), "unknown")


def _why_ranks_dont_meet(library: str, program: str, kind: str, output: str) -> str:
    """Return what keeps two ranks from finding each other. Returns an empty string if nothing does."""
    sizes = _RANKS.findall(output)
    if sizes == ["2", "2"]:
        return ""
    if sizes and set(sizes) == {"1"}:
        return f"{program} belongs to {kind}, but mpi4py loads {library}, so each rank is alone"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"{program} doesn't start two ranks: {lines[-1] if lines else 'they print nothing'}"


def _output_of(*command: str) -> str:
    """Return the output of a command that is started outside of any MPI job. Returns the problem if it doesn't start or
    end."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(_FROM_MPIEXEC)}
    try:
        done = subprocess.run(
            command,
            env={**SETTINGS, **outside},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_LIMIT,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return f"it doesn't end within {_LIMIT:g} seconds"
    except OSError as problem:
        return f"it can't be started: {problem.strerror}"
    return done.stdout
