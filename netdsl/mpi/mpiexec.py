"""The launcher that starts mpiexec, whose ranks are the workers, all on this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from netdsl.distributed.launcher import Workers, WorkerSpec, ending_of, last_words, log_of
from netdsl.distributed.run import Run
from netdsl.errors import DistributedError
from netdsl.mpi.installation import SETTINGS, mpiexec

COMMAND = [sys.executable, "-P", "-m", "netdsl.mpi.worker_process"]
_RANK = re.compile(r"^worker (\d+) is process (\d+)$", re.MULTILINE)  # as each rank writes it
_FIRST_LOST = re.compile(r"\bPID (\d+)")  # of the process whose end made mpiexec end the others, in its words
_SIGNAL = re.compile(r"\bsignal (\d+)")  # that ended it
_LEAVE = 5.0  # seconds for mpiexec to end its ranks


class MpiexecLauncher:
    """Starts mpiexec, and again when a rank is lost, with which mpiexec ends all others."""

    name: ClassVar[str] = "mpi"
    restarts: ClassVar[bool] = True
    regroups: ClassVar[bool] = False
    host = bound = "127.0.0.1"
    port = 0

    def prepare(self, folder: Path, run: Run, note: Callable[[str], object]) -> Run:
        """The run with a transport that suits the workers' devices; an error where there is no mpiexec."""
        mpiexec()
        check_number(run)
        return run.with_transport(per_machine=run.workers, mpi=True)

    def room(self, run: Run) -> int:
        """The number of workers."""
        return run.workers

    def start(self, spec: WorkerSpec) -> MpiexecWorkers:
        """Start all workers."""
        return MpiexecWorkers(spec)


class MpiexecWorkers(Workers):
    """The ranks of one mpiexec. Each has a log; mpiexec's own has its words and the ranks' process numbers."""

    sees_endings: ClassVar[bool] = True

    def __init__(self, spec: WorkerSpec) -> None:
        self._run, self._size = Path(spec.run), spec.size
        self._log = self._run / "logs" / "mpiexec.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._log.open("wb") as output:
                self._process = subprocess.Popen(
                    [mpiexec(), "-n", str(spec.size), *COMMAND],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    env={**SETTINGS, **os.environ},
                    process_group=0,  # a terminal's Ctrl-C is the supervisor's to handle
                )
        except OSError as problem:
            raise DistributedError(f"mpiexec can't be started: {problem}") from None
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as pipe:  # if it has ended, that is noticed elsewhere
            pipe.write(spec.text().encode() + b"\n")

    def endings(self) -> Mapping[int, str]:
        """How the ranks ended, which is all together."""
        code = self._process.poll()
        if code is None:
            return {}
        first = self.first_lost()
        if first is None:
            return dict.fromkeys(range(self._size), f"mpiexec {ending_of(code)}")
        signaled = _SIGNAL.search(self._log.read_text(errors="replace"))
        how = ending_of(-int(signaled[1]) if signaled else code)
        return dict.fromkeys(range(self._size), "mpiexec ended it") | {first: how}

    def first_lost(self) -> int | None:
        """The rank whose end made mpiexec end the others."""
        text = self._log.read_text(errors="replace")
        ranks = {process: int(rank) for rank, process in _RANK.findall(text)}
        lost = _FIRST_LOST.search(text)
        return None if lost is None else ranks.get(lost[1])

    def last_words(self, rank: int) -> str:
        """A worker's last lines in its log."""
        log = log_of(self._run, rank)
        return last_words(log) if log.exists() else ""

    def problem(self) -> str:
        """What mpiexec says, if it isn't about the end of a rank."""
        ended = self._process.poll() is not None
        return f"of mpiexec, {last_words(self._log)}" if ended and self.first_lost() is None else ""

    def close(self) -> None:
        """End mpiexec, which ends all ranks; those that it leaves end by themselves, without their supervisor."""
        self._process.terminate()
        try:
            self._process.wait(_LEAVE)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def check_number(run: Run) -> None:
    """Raise a DistributedError for a run whose workers may be lost and come."""
    if run.fewest is not None:
        raise DistributedError("mpiexec ends all ranks when one is lost; give one number of workers, not a range")
