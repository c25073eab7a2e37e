"""A worker's process: `python -m netdsl.distributed.local.process RUN PLACE`."""

from __future__ import annotations

import sys
from pathlib import Path

from netdsl.distributed.local.place import Control, Place, work
from netdsl.distributed.local.shared import SharedMemory
from netdsl.distributed.member import take_part
from netdsl.distributed.messages import message_of
from netdsl.solver.solver import Action


def main(run: str, text: str) -> int:
    """Take part in a run, and give the exit code."""
    place = Place.of(text)

    def task(control: Control) -> None:
        communicator = SharedMemory(place.memory, place.rank, place.size, place.deadline)

        def wanted() -> Action:
            return Action.STOP if control.wanted() else Action.NONE

        take_part(Path(run), communicator, lambda told: control.tell(message_of(told)), wanted)

    return work(place, task)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
