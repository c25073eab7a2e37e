"""The processes of a command, wherever they are: found by a mark in their environment, which children inherit."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "NETDSL_CHAOS"
ROOT = Path(__file__).parents[2]
_LOOK = 0.01  # seconds between two looks


@dataclass(frozen=True)
class MarkedProcess:
    """A process with a mark: which it is, what it was started with."""

    pid: int
    command: str
    environment: dict[str, str]

    @property
    def has_ended(self) -> bool:
        """Whether the process is there no more; its number may be another's now."""
        return _environment(self.pid).get(MARK) != self.environment[MARK]

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process is still there."""
        if not self.has_ended:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def limit_files(self, size: int) -> None:
        """Let files grow to this many bytes at most, as if the disk were full; -1 is as much as they like."""
        if not self.has_ended:
            with suppress(ProcessLookupError):
                _, hard = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
                resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (size, hard))

    def description(self) -> str:
        """What the system says about the process, for whoever looks for the reason why it hangs."""
        folder = Path("/proc", str(self.pid))
        state = wait = ""
        with suppress(OSError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            wait = (folder / "wchan").read_text()
        return f"{self.pid} state {state} in {wait}: {self.command}"


def marked_processes(mark: str) -> list[MarkedProcess]:
    """The living processes whose mark begins so, by their numbers."""
    processes = []
    for path in Path("/proc").glob("[0-9]*"):
        environment = _environment(int(path.name))
        if environment.get(MARK, "").startswith(mark):
            with suppress(OSError):
                command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                processes.append(MarkedProcess(int(path.name), command, environment))
    return sorted(processes, key=lambda process: process.pid)


def _environment(pid: int) -> dict[str, str]:
    """A process's environment; empty if it has ended, or isn't ours."""
    try:
        text = Path("/proc", str(pid), "environ").read_bytes().decode(errors="replace")
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition holds; returns whether it does in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK)
    return True


def kill_all(mark: str) -> None:
    """Kill all processes with a mark, also those that are started meanwhile."""
    while processes := marked_processes(mark):
        for process in processes:
            process.send(signal.SIGKILL)
        time.sleep(_LOOK)


class MarkedCommand:
    """A command in a session of its own, whose output goes to a file by way of a pipe.

    A limit of the size of files is then no limit of what the command can say.
    """

    def __init__(self, words: Sequence[str], folder: Path, mark: str, output: Path) -> None:
        temporary = folder / "tmp"
        temporary.mkdir(exist_ok=True)
        settings = {
            MARK: mark,
            "OMP_NUM_THREADS": "1",
            "PYTHONFAULTHANDLER": "1",  # SIGABRT makes a process that hangs say where
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(temporary),
        }
        self.mark, self.output = mark, output
        self.process = subprocess.Popen(
            words,
            cwd=folder,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._copying = threading.Thread(target=self._copy_output, daemon=True)
        self._copying.start()

    @property
    def code(self) -> int | None:
        """The exit code, if the command has ended."""
        return self.process.poll()

    def text(self) -> str:
        """What the command wrote until now."""
        if self.code is not None:
            self._copying.join(1.0)  # others may have the pipe open for longer
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def _copy_output(self) -> None:
        assert self.process.stdout is not None
        with self.output.open("wb", buffering=0) as file, self.process.stdout as pipe:
            while data := os.read(pipe.fileno(), 1 << 16):
                file.write(data)
