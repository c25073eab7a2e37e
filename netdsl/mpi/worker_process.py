"""A worker's process as a rank of mpiexec: `python -m netdsl.mpi.worker_process`. The first rank reads the spec."""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path

from caffe_proto.errors import CaffeError
from netdsl.distributed.launcher import WorkerSpec, log_of
from netdsl.distributed.run_worker import run_worker
from netdsl.mpi.communicator import connect
from netdsl.mpi.launcher import share
from netdsl.mpi.library import world

_GRACE = 30.0  # seconds for the supervisor to end all ranks; a rank that fails first would silence the others


def main() -> int:
    """Take part in a run, and return the exit code."""
    gc.freeze()  # spares the garbage collector a slow search through all of torch's objects at the end
    rank = world().rank
    sys.stderr.write(f"worker {rank} is process {os.getpid()}\n")
    sys.stderr.flush()
    spec = share(WorkerSpec.of(sys.stdin.readline()) if rank == 0 else None)
    _log_to(log_of(Path(spec.run), rank))
    try:
        with spec.allowing():
            run_worker(spec, connect=connect)
    except CaffeError as problem:
        sys.stderr.write(f"{problem}\n")
        time.sleep(_GRACE)
        return 1
    return 0


def _log_to(log: Path) -> None:
    """Write all output of this process and its libraries to a log from now on."""
    with log.open("wb") as file:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(file.fileno(), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
