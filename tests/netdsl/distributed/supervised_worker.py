"""A worker for tests of the supervisor: `supervised_worker.py TASK ATTEMPT`, with its spec on standard input."""

from __future__ import annotations

import os
import sys
import time

from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.protocol import Ending
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.run_log import RoundRecord, to_plain
from netdsl.errors import CaffeError, DataError, PeerLostError


class WorkerTask:
    def __init__(self, spec, control, attempt):
        self.rank, self.attempt, self.control = spec.rank, attempt, control

    def report(self, number):
        """Write a record by which the test finds the process."""
        self.control.report(to_plain(RoundRecord(number, self.rank, steps=os.getpid(), start=0.0)))

    def rounds(self, total):
        """Make progress until a stop is requested or another worker is lost."""
        number = 0
        while number != total and not self.control.is_to_stop():
            time.sleep(0.02)
            self.control.pulse.beat()
            self.control.interruption.check()
            self.report(number)
            number += 1

    def three(self):
        self.rounds(3)

    def endless(self):
        self.rounds(-1)

    def endless_then_three(self):
        self.rounds(3 if self.attempt else -1)

    def wrong(self):
        if self.rank == 1:
            raise DataError("digits.csv:7: three columns, and there should be two; correct it")
        self.rounds(-1)

    def crash(self):
        if self.rank == 1:
            print("a word before the end", file=sys.stderr)
            raise RuntimeError("a leg is broken")
        self.rounds(-1)

    def crash_twice(self):
        if self.attempt < 2:
            self.report(self.attempt)
            self.crash()

    def vanish(self):
        if self.rank == 1 and not self.attempt:
            os._exit(7)
        self.rounds(-1 if not self.attempt else 3)

    def hang(self):
        """Hang, except in the first worker, which makes progress."""
        while not self.attempt:
            self.control.pulse.beat()
            self.control.interruption.check()
            time.sleep(600 if self.rank else 0.02)

    def slow(self):
        """Compute for longer than the deadline, without finishing an iteration."""
        until = time.monotonic() + 4.5
        while time.monotonic() < until:
            pass
        self.rounds(3)

    def silent(self):
        self.report(0)
        time.sleep(600)


if __name__ == "__main__":
    task, attempt = sys.argv[1], int(sys.argv[2])
    if task == "stillborn":
        sys.exit(9)
    spec = WorkerSpec.of(sys.stdin.readline())
    with ControlClient(spec.control, spec.rank, spec.beat) as control:
        try:
            getattr(WorkerTask(spec, control, attempt), task)()
            control.report_end(Ending.DONE)
        except PeerLostError as problem:
            control.report_end(Ending.LOST, str(problem))
        except CaffeError as problem:
            control.report_end(Ending.FAILED, str(problem))
        except Exception as problem:
            control.report_end(Ending.CRASHED, f"{type(problem).__name__}: {problem}")
            raise
