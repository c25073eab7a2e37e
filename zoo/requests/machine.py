"""Requests about this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar, Literal

from netdsl.distributed.control.place import Ports
from netdsl.ranks import ranks_apart, started_by_mpiexec
from zoo.requests.request import Request, RequestError, argument, option, request

_SETUP = """\b
bash, in ~/.bashrc:
  eval "$(zoo completion bash)"
zsh, in ~/.zshrc, after compinit:
  eval "$(zoo completion zsh)"
fish, once:
  zoo completion fish > ~/.config/fish/completions/zoo.fish
"""


@request
class DoctorRequest(Request):
    """Check this installation: what is installed, what works, and what to do next. The checks cover netdsl and its
    dependencies, devices, Java with Spark, MPI, memory, disks and limits, each extra, and plug-ins. Every package is
    imported, a small net is trained, and MPI starts two ranks. Each check runs in its own process.

    A part is good; missing, which is fine unless you need it; limited, if it works slowly or only in some cases; or
    wrong, if it is installed and doesn't work. The exit code is 1 if a part is wrong.

    With --cluster, the command examines the machines of a cluster instead. Start it like a training, with mpiexec,
    torchrun or srun, or with --backend spark. It compares versions and devices, finds out who reaches whom, whether all
    machines share a folder and have the data, and how fast the network is from each machine to the next.
    """

    cluster: bool = option("Examine the machines of a cluster, like a training's workers.", default=False)
    folder: Path | None = option(
        "Folder that all machines of the cluster share, as for runs.", default=None, name="run", metavar="FOLDER"
    )
    data: tuple[str, ...] = option(
        "Data that all machines of the cluster must have.", default=(), repeatedly=True, metavar="SOURCE",
        address="other",
    )  # fmt: skip
    workers: int | None = option("Number of workers on Spark.", default=None, least=1, metavar="K")
    backend: Literal["mpi", "external", "spark"] | None = option(
        "Launcher of the cluster's workers; by default the one that started this process.", default=None
    )
    master: str | None = option(
        "Spark master: spark://host:7077, yarn, ...; by default this machine.",
        default=None, metavar="URL", address="other",
    )  # fmt: skip
    address: str | None = option(
        "Address or name of the first worker's machine that the other machines reach; by default all are tried.",
        default=None, metavar="HOST",
    )  # fmt: skip
    ports: Ports | None = option(
        "Port, or range such as 5000-5010, at which the first worker listens for other machines.",
        default=None, name="port", metavar="PORT", parse=Ports.parse,
    )  # fmt: skip

    @property
    def started_by(self) -> str | None:
        """The launcher of the cluster's workers."""
        if self.backend is not None or ranks_apart(os.environ) is None:
            return self.backend
        return "mpi" if started_by_mpiexec(os.environ) else "external"

    def check(self) -> None:
        """Refuse options without the cluster that they are for, and a cluster without a launcher or a folder."""
        given = (self.folder, self.workers, self.backend, self.master, self.address, self.ports)
        if not self.cluster and (self.data or any(value is not None for value in given)):
            raise RequestError("These options are for the machines of a cluster; add --cluster.")
        if not self.cluster:
            return
        if self.started_by is None:
            raise RequestError(
                "--cluster needs the cluster's launcher, as in: mpiexec -n 4 zoo doctor --cluster --run FOLDER; for "
                "Spark, add --backend spark."
            )
        if self.folder is None:
            raise RequestError("--cluster needs a folder, best one that all machines share; add --run FOLDER.")
        if self.started_by == "spark" and self.workers is None:
            raise RequestError("--backend spark needs the number of workers; add --workers K.")


@request
class CompletionRequest(Request):
    """Print the script that lets a shell complete commands, options, choices, model names and files."""

    epilog: ClassVar[str] = _SETUP

    shell: Literal["bash", "zsh", "fish"] = argument("bash|zsh|fish")
