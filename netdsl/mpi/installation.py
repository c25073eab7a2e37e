"""The MPI that is installed: the program that starts ranks, the library that mpi4py loads, and whether they fit."""

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

SETTINGS = {  # of Open MPI, which otherwise wants a core for each rank, and no administrator
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
_KINDS = {  # how each library's mpiexec is recognised by what it says about its version
    "Open MPI": re.compile(r"Open ?MPI|OpenRTE|PRRTE|prterun", re.IGNORECASE),
    "Intel MPI": re.compile(r"Intel\(R\) MPI", re.IGNORECASE),
    "MPICH": re.compile(r"HYDRA|MPICH", re.IGNORECASE),
}
_COUNT_RANKS = "from netdsl.mpi.library import world; print(f'ranks: {world().size}')"
_RANKS = re.compile(r"ranks: (\d)")  # of two ranks, which may both be on one line
_LIMIT = 20.0  # seconds for mpiexec to say its version, or to start two ranks
_FROM_MPIEXEC = ("PMI_", "PMIX_", "OMPI_", "PRTE_", "HYDI_", "MPI_LOCAL")  # variables of a process that is a rank


@dataclass(frozen=True)
class MpiInstallation:
    """The library that mpi4py loads, the mpiexec that netdsl starts, and what is wrong with the two together."""

    library: str
    program: str
    program_kind: str
    problem: str = ""


def mpiexec() -> str:
    """Return the program beside this Python, from an MPI that is installed as a package, or else the first on the
    path."""
    beside = Path(sys.executable).with_name("mpiexec")
    program = str(beside) if beside.exists() else shutil.which("mpiexec")
    if program is None:
        raise MissingExtraError("there is no mpiexec here: pip install 'netdsl[mpi]', or load your cluster's MPI")
    return program


def mpi_installation() -> MpiInstallation:
    """Return the MPI that is installed, tried out with two ranks. MPI isn't started in this process."""
    library, program = _loaded_library(), mpiexec()
    kind = _kind_of(_output_of(program, "--version"))
    output = _output_of(program, "-n", "2", sys.executable, "-P", "-c", _COUNT_RANKS)
    return MpiInstallation(library, program, kind, _why_ranks_dont_meet(library, program, kind, output))


def _loaded_library() -> str:
    """Return the name and version of the library that mpi4py loads, which it does when it is imported."""
    import_extra("mpi4py", "mpi", "MPI needs mpi4py and an MPI library").rc.initialize = False
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as problem:
        raise DistributedError(f"mpi4py finds no MPI library: {problem}; install one, or the extra mpi") from None
    name, version = MPI.get_vendor()
    return f"{name} {'.'.join(map(str, version))}"


def _kind_of(version: str) -> str:
    return next((kind for kind, words in _KINDS.items() if words.search(version)), "unknown")


def _why_ranks_dont_meet(library: str, program: str, kind: str, output: str) -> str:
    """Return what keeps two ranks from finding each other; empty if nothing does."""
    sizes = _RANKS.findall(output)
    if sizes == ["2", "2"]:
        return ""
    if sizes and set(sizes) == {"1"}:
        return f"{program} is {kind}'s, but mpi4py loads {library}, so that each rank thinks it is alone"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"{program} doesn't start two ranks: {lines[-1] if lines else 'they say nothing'}"


def _output_of(*command: str) -> str:
    """Return what a command prints, as it would be started outside of any MPI job; what is wrong where it doesn't
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
