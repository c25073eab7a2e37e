"""A worker's process: `python -m netdsl.distributed.launchers.worker_process`, with its spec as standard input."""

from __future__ import annotations

import gc
import sys

from caffe_proto.errors import CaffeError
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.run_worker import run_worker


def main() -> int:
    """Take part in a run, and return the exit code."""
    gc.freeze()  # spares the garbage collector a slow search through all of torch's objects at the end
    spec = WorkerSpec.of(sys.stdin.readline())
    try:
        with spec.allowing():
            run_worker(spec)
    except CaffeError as problem:
        sys.stderr.write(f"{problem}\n")  # standard error is the worker's log
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
