"""A rank's process: `python -m netdsl.transparent.worker_process`, with its spec as standard input."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from netdsl.distributed.launcher import WorkerSpec
from netdsl.errors import DistributedError
from netdsl.transparent.launch import ScriptPlan, run_rank


def main() -> int:
    """Run the script as one rank, and return the exit code."""
    gc.freeze()  # spares the garbage collector a slow search through all of torch's objects at the end
    spec = WorkerSpec.of(sys.stdin.readline())
    try:
        run_rank(spec, ScriptPlan.load(Path(spec.run)))
    except DistributedError as problem:
        if spec.rank:  # the supervisor reports the first rank's problem
            sys.stderr.write(f"{problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
