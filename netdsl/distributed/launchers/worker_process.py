"""A worker's process: `python -m netdsl.distributed.launchers.worker_process RUN PLACE`."""

from __future__ import annotations

import sys
from pathlib import Path

from netdsl.distributed.launchers.local_worker_spec import Control, LocalWorkerSpec, work
from netdsl.distributed.messages import message_of
from netdsl.distributed.run_worker import run_worker
from netdsl.distributed.transports.shared_memory.communicator import SharedMemory
from netdsl.solver.solver import Action


def main(run: str, text: str) -> int:
    """Take part in a run, and give the exit code."""
    place = LocalWorkerSpec.of(text)

    def task(control: Control) -> None:
        communicator = SharedMemory(place.memory, place.rank, place.size, place.deadline)

        def wanted() -> Action:
            return Action.STOP if control.wanted() else Action.NONE

        run_worker(Path(run), communicator, lambda told: control.tell(message_of(told)), wanted)

    return work(place, task)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
