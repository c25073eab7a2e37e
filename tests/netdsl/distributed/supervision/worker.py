"""A worker for tests of the supervisor, which needs no torch: what it does is named on its command line."""

from __future__ import annotations

import os
import sys
import time
from itertools import count

import numpy as np

from netdsl.distributed.launchers.local_worker_spec import LocalWorkerSpec, work
from netdsl.distributed.transports.shared_memory.memory import SharedBlock
from netdsl.distributed.transports.shared_memory.pieces import Pieces
from netdsl.distributed.transports.shared_memory.waiting import Patience
from netdsl.errors import DataError


class Task:
    def __init__(self, place):
        self.place = place
        self.memory = SharedBlock(place.memory, place.size)
        self.pieces = Pieces(Patience(self.memory, place.rank, place.deadline), 0)
        self.values = np.full(700_001, place.rank, np.float32)

    def rounds(self, control, total):
        """Average again and again, until it is asked to stop."""
        for number in count():
            wants = np.array([control.wanted()], np.int64)
            wants[0] *= self.place.size
            self.pieces.mean(wants, 1.0, None)
            if wants[0] or number == total:
                control.tell({"end": number, "mean": float(self.values[-1])})
                return
            self.pieces.mean(self.values, 1.0, None)
            control.tell({"round": number, "pid": os.getpid(), "generation": self.place.generation})

    def three(self, control):
        self.rounds(control, 3)

    def endless(self, control):
        self.rounds(control, -1)

    def endless_then_three(self, control):
        self.rounds(control, 3 if self.place.generation else -1)

    def wrong(self, control):
        if self.place.rank == 1:
            raise DataError("digits.csv:7: three columns, and there should be two; correct it")
        self.rounds(control, -1)

    def crash(self, control):
        if self.place.rank == 1:
            raise RuntimeError("a leg is broken")
        self.rounds(control, -1)

    def crash_twice(self, control):
        if self.place.generation < 2:
            control.tell({"round": self.place.generation})
            self.crash(control)

    def hang(self, control):
        """Only the first gives signs of life."""
        self.memory.give_sign(self.place.rank)
        while not self.place.generation:
            time.sleep(600 if self.place.rank else 0.02)
            self.memory.give_sign(self.place.rank)

    def silent(self, control):
        control.tell({"pid": os.getpid()})
        time.sleep(600)


if __name__ == "__main__":
    place = LocalWorkerSpec.of(sys.argv[1])
    sys.exit(work(place, getattr(Task(place), sys.argv[2])))
