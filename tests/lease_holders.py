"""Processes that hold the lease of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netdsl.distributed.run_lease import VARIABLE

_PROGRAM = """
import sys
from pathlib import Path
from netdsl.distributed.run_lease import hold
from netdsl.errors import DistributedError
folder = Path(sys.argv[1])
sys.stdin.readline()
try:
    with hold(folder, lambda text: print("note:", text, flush=True)) as lease:
        print("held", flush=True)
        while sys.stdin.readline():
            lease.check()
            print("checked", flush=True)
except DistributedError as problem:
    print(problem, flush=True)
    sys.exit(2)
"""


class LeaseHolder:
    """A process that takes a lease on request, and holds it until its input ends."""

    def __init__(self, folder: Path, seconds: str = "") -> None:
        environment = {**os.environ, **({VARIABLE: seconds} if seconds else {})}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def go(self) -> None:
        """Let the process take the lease, or check it."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def line(self) -> str:
        """Return the next line that the process writes."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def taken(self) -> LeaseHolder:
        """Take the lease, which must be free."""
        self.go()
        assert self.line() == "held"
        return self

    def end(self) -> int:
        """Let the process release the lease and end. Returns its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait()


@contextmanager
def lease_holders(folder: Path, *seconds: str) -> Iterator[list[LeaseHolder]]:
    """Start a process for each time of a lease. All of them are killed afterwards."""
    started = [LeaseHolder(folder, each) for each in seconds]
    try:
        yield started
    finally:
        for holder in started:
            with holder.process:
                holder.process.kill()
