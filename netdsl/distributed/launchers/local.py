"""The local launcher, which starts workers as processes on this machine."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import IO, ClassVar

import msgspec

from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.launcher import Workers, WorkerSpec, ending_of, last_words, log_of
from netdsl.distributed.run import Run
from netdsl.errors import DistributedError

_log = logging.getLogger(__name__)

COMMAND = [sys.executable, "-P", "-m", "netdsl.distributed.launchers.worker_process"]


class Shown(Enum):
    """The workers that write to this process's own output instead of a log."""

    NONE = "none"
    FIRST = "first"
    ALL = "all"


class LocalLauncher:
    """Starts a process for each worker with a command. The workers' logs are in the run's folder."""

    name: ClassVar[str] = "local"
    restarts: ClassVar[bool] = True
    regroups: ClassVar[bool] = True
    place: NetworkPlace | None = None

    def __init__(self, command: Sequence[str] = COMMAND, shown: Shown = Shown.NONE) -> None:
        self._command, self._shown = command, shown

    def prepare(self, folder: Path, run: Run, note: Callable[[str], object]) -> Run:
        """Return the run with a transport that suits the workers' devices."""
        return run.with_transport(per_machine=run.workers)

    def room(self, run: Run) -> int:
        """Return the number of workers. For an elastic run, this is one for each GPU that the run names, or for each
        core."""
        gpus = {device for device in run.devices if device.type == "cuda"}
        return run.fitting(len(gpus) or os.cpu_count() or 1)

    def start(self, spec: WorkerSpec) -> LocalWorkers:
        """Start all workers."""
        return LocalWorkers(spec, self._command, self._shown)


class LocalWorkers(Workers):
    """The processes of one attempt."""

    sees_endings: ClassVar[bool] = True

    def __init__(self, spec: WorkerSpec, command: Sequence[str] = COMMAND, shown: Shown = Shown.NONE) -> None:
        self._spec, self._command, self._shown = spec, command, shown
        self._processes = list[_WorkerProcess]()
        log_of(Path(spec.run), 0).parent.mkdir(parents=True, exist_ok=True)
        try:
            for rank in range(spec.size):
                self._processes.append(self._new_process(rank))
        except BaseException:
            self.close()
            raise

    def endings(self) -> Mapping[int, str]:
        """Return how processes ended, by rank."""
        return {rank: how for rank, process in enumerate(self._processes) if (how := process.ending())}

    def last_words(self, rank: int) -> str:
        """Return a worker's last lines in its log."""
        return self._processes[rank].last_words()

    def start_again(self, rank: int) -> bool:
        """End the rest of a lost worker, and start a process in its place."""
        self._processes[rank].kill()
        self._processes[rank].wait()
        self._processes[rank] = self._new_process(rank)
        return True

    def _new_process(self, rank: int) -> _WorkerProcess:
        worker = msgspec.structs.replace(self._spec, rank=rank, local_rank=rank)
        is_shown = self._shown is Shown.ALL or (self._shown is Shown.FIRST and rank == 0)
        return _WorkerProcess(worker, self._command, None if is_shown else log_of(Path(self._spec.run), rank))

    def close(self) -> None:
        """End the processes that are still running, with everything that they started."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()


class _WorkerProcess:
    """A worker's process, and its log if it has one.

    The process reads its spec from standard input, since the spec contains a secret.
    """

    def __init__(self, spec: WorkerSpec, command: Sequence[str], log: Path | None) -> None:
        self._log = log
        try:
            if log is None:
                self._new_process = _start_process(spec, command, None)
                return
            with log.open("ab") as output:
                self._start_process = output.tell()
                self._new_process = _start_process(spec, command, output)
        except OSError as problem:
            raise DistributedError(
                f"worker {spec.rank} can't be started: {problem}; start fewer workers, or free memory (`zoo "
                "doctor` shows it and the limits)"
            ) from None

    def ending(self) -> str:
        """Return how the process ended. Returns an empty string if it is running."""
        code = self._new_process.poll()
        return "" if code is None else ending_of(code)

    def last_words(self) -> str:
        """Return the last lines that the process wrote, and the path of the log."""
        return "" if self._log is None else last_words(self._log, self._start_process)

    def kill(self) -> None:
        """End the process at once, with everything that it started."""
        if self._new_process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._new_process.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until the process has ended."""
        self._new_process.wait()


def _start_process(spec: WorkerSpec, command: Sequence[str], output: IO[bytes] | None) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        process_group=0,  # the supervisor handles a terminal's Ctrl-C
    )
    _log.debug("worker %d is process %d", spec.rank, process.pid)
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as pipe:  # if the process has ended, the supervisor notices that
        pipe.write(spec.text().encode())
    return process
