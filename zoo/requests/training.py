"""Requests about trainings: how they went, and with several workers, of scripts too."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from netdsl.ranks import started_by_mpiexec
from zoo.requests.groups import WithPython
from zoo.requests.request import Request, RequestError, argument, option, request


@request
class ReportRequest(WithPython):
    """Report how a run went, or goes: RUN is its folder. A table says what the workers spent their time on, in seconds
    and shares: waiting and exchanging are counted where they delayed a worker, while broadcast, reduce, prepare and
    push ran beside computing. A page, RUN/report.html, has everything else: the curves, what the model confuses and its
    surest mistakes, the net as a graph, its first filters and slowest layers, and what each worker did in the last
    rounds. It is one file that any browser shows, without a network.

    Several runs are compared: a page, comparison.html, has their results, the settings in which they differ, and their
    curves over each other.
    """

    runs: tuple[str, ...] = argument("RUN...")
    output: str | None = option(
        "Where the page goes, a file ending in .html or a folder.", default=None, short="o", metavar="FILE"
    )
    items: int = option(
        "Items of the test data that are predicted; 0 runs nothing of the net.", default=2000, least=0, metavar="N"
    )


@request
class RunRequest(Request):
    """Run SCRIPT, a Python program for one process, with several workers that train together.

    The script needs no change. Each worker has its part of every batch that a DataLoader or a pycaffe net reads, and
    what the script sees is the same as in one process: batches, losses, gradients and weights. ARGUMENTS are the
    script's own.
    """

    script: Path = argument("SCRIPT", is_file=True)
    arguments: tuple[str, ...] = argument("[ARGUMENTS]...", default=(), unprocessed=True)
    workers: int | None = option("The number of processes that run it together.", default=None, least=1, metavar="K")
    backend: Literal["local", "mpi", "external"] | None = option(
        "What starts them: this command, mpiexec, or torchrun and the like; by default what has started this process.",
        default=None,
    )
    folder: str | None = option(
        "The folder for the workers' logs; needed with --backend external.",
        default=None, name="run", metavar="FOLDER",
    )  # fmt: skip
    all_output: bool = option("Let every worker print and write files, not only the first.", default=False)
    deadline: float = option(
        "How long a worker may be silent until it counts as lost.", default=30.0, least=1, metavar="SECONDS"
    )

    @property
    def started_by(self) -> str:
        """What starts the workers."""
        return self.backend or ("mpi" if started_by_mpiexec(os.environ) else "local")

    def check(self) -> None:
        """Refuse what doesn't go together with what starts the workers."""
        if self.started_by == "external" and self.folder is None:
            raise RequestError("--backend external needs --run FOLDER, on storage that all workers share.")
        if self.started_by != "local" and self.workers is not None:
            raise RequestError(f"With --backend {self.started_by} the number of workers is that of the processes.")
        if self.started_by == "mpi" and not started_by_mpiexec(os.environ):
            raise RequestError(f"With --backend mpi, start the workers yourself: mpiexec -n 4 zoo run {self.script}")
