"""`zoo run`: run a script for one process as several workers."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from netdsl.ranks import started_by_mpiexec

_BACKENDS = ("local", "mpi", "external")


@click.command(
    "run",
    short_help="Run a torch or pycaffe script with several workers.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--workers", type=click.IntRange(min=1), metavar="K", help="The number of processes that run it together."
)
@click.option(
    "--backend",
    type=click.Choice(_BACKENDS),
    help="What starts them: this command, mpiexec, or torchrun and the like; by default what has started this process.",
)
@click.option(
    "--run", "folder", metavar="FOLDER", help="The folder for the workers' logs; needed with --backend external."
)
@click.option("--all-output", is_flag=True, help="Let every worker print and write files, not only the first.")
@click.option(
    "--deadline",
    type=click.FloatRange(min=1),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a worker may be silent until it counts as lost.",
)
def command(
    script: str,
    arguments: tuple[str, ...],
    workers: int | None,
    backend: str | None,
    folder: str | None,
    all_output: bool,
    deadline: float,
) -> None:
    """Run SCRIPT, a Python program for one process, with several workers that train together.

    The script needs no change. Each worker has its part of every batch that a DataLoader or a pycaffe net reads, and
    what the script sees is the same as in one process: batches, losses, gradients and weights. ARGUMENTS are the
    script's own.
    """
    backend = backend or ("mpi" if started_by_mpiexec(os.environ) else "local")
    if backend == "external" and folder is None:
        raise click.UsageError("--backend external needs --run FOLDER, on storage that all workers share.")
    if backend != "local" and workers is not None:
        raise click.UsageError(f"With --backend {backend} the number of workers is that of the processes.")
    if backend == "mpi" and not started_by_mpiexec(os.environ):
        raise click.UsageError(f"With --backend mpi, start the workers yourself: mpiexec -n 4 zoo run {script}")
    if backend == "local" and (workers or 1) == 1:
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, script, *arguments])
    from netdsl.transparent.launch import run_as_worker, run_locally
    from netdsl.transparent.script import Script

    program = Script(script, arguments, all_output)
    if backend == "external":
        assert folder is not None
        run_as_worker(program, Path(folder), deadline=deadline)
        return
    if backend == "mpi":
        from netdsl.mpi.script import run_as_rank

        run_as_rank(program, None if folder is None else Path(folder), deadline=deadline)
        return
    with ExitStack() as stack:
        logs = Path(folder or stack.enter_context(TemporaryDirectory(prefix="zoo-run-")))
        run_locally(program, logs, workers=workers or 1, deadline=deadline)
