"""The processes of a command, which are found by a mark in their environment. Children inherit the mark."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "NETDSL_CHAOS"
ROOT = Path(__file__).parents[2]
_LOOK = 0.01  # seconds between two checks


@dataclass(frozen=True)
class MarkedProcess:
    """A process with a mark, and the arguments and environment that it started with."""

    pid: int
    command: str
    environment: dict[str, str]

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended. Its number may belong to another process now."""
        return _environment(self.pid).get(MARK) != self.environment[MARK]

    def send(self, number: signal.Signals) -> None:
        """Send a signal if the process still exists."""
        if not self.has_ended:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def limit_files(self, size: int) -> None:
        """Limit the size of files to this many bytes, as if the disk were full. -1 removes the limit."""
        if not self.has_ended:
            with suppress(ProcessLookupError):
                _, hard = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
                resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (size, hard))

    def description(self) -> str:
        """The system's description of the process, to find out why it hangs."""
        folder = Path("/proc", str(self.pid))
        state = wait = ""
        with suppress(OSError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            wait = (folder / "wchan").read_text()
        return f"{self.pid} state {state} in {wait}: {self.command}"


def marked_processes(mark: str) -> list[MarkedProcess]:
    """Return the living processes whose mark begins with a prefix, by process number."""
    processes = []
    for path in Path("/proc").glob("[0-9]*"):
        environment = _environment(int(path.name))
        if environment.get(MARK, "").startswith(mark):
            with suppress(OSError):
                command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                processes.append(MarkedProcess(int(path.name), command, environment))
    return sorted(processes, key=lambda process: process.pid)


def _environment(pid: int) -> dict[str, str]:
    """Return a process's environment, or an empty one if the process has ended or belongs to another user."""
    try:
        text = Path("/proc", str(pid), "environ").read_bytes().decode(errors="replace")
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition holds. Returns whether it holds in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK)
    return True


def kill_all(mark: str) -> None:
    """Kill all processes with a mark, including those that start meanwhile."""
    while processes := marked_processes(mark):
        for process in processes:
            process.send(signal.SIGKILL)
        time.sleep(_LOOK)


class MarkedCommand:
    """A command in its own session, whose output goes to a file through a pipe.

    A limit on the size of files therefore doesn't limit the command's output.
    """

    def __init__(
        self, words: Sequence[str], folder: Path, mark: str, output: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        temporary = folder / "tmp"
        temporary.mkdir(exist_ok=True)
        settings = {
            MARK: mark,
            "OMP_NUM_THREADS": "1",
            "PYTHONFAULTHANDLER": "1",  # on SIGABRT, a hanging process prints its stacks
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(temporary),
            **(environment or {}),
        }
        self.mark, self.output, self.folder, self._settings = mark, output, folder, settings
        self.others: list[MarkedCommand] = []
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

    def start_another(self, words: Sequence[str]) -> None:
        """Start another command at the same time, whose processes count as this command's."""
        output = self.output.with_name(f"{self.output.stem}-other.txt")
        self.others.append(MarkedCommand(words, self.folder, self.mark, output, self._settings))

    def text(self) -> str:
        """The output of the command so far."""
        if self.code is not None:
            self._copying.join(1.0)  # other processes may keep the pipe open for longer
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def _copy_output(self) -> None:
        assert self.process.stdout is not None
        with self.output.open("wb", buffering=0) as file, self.process.stdout as pipe:
            while data := os.read(pipe.fileno(), 1 << 16):
                file.write(data)
