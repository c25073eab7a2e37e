"""Run a command in a forked process with limits, and measure its processor time and its memory."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.grammar import Step
from tests.attacks.grammars import GRAMMARS

MOST_SECONDS = 10.0  # of processor time, for a file below 1 MB
MOST_MEMORY = 1 << 30  # bytes
_ENDING_SECONDS = int(1.5 * MOST_SECONDS)  # the process ends then
_ENDING_MEMORY = 3 * MOST_MEMORY
_WAITING = 600  # seconds until a process that waits is ended
_TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True)
class AttackRecipe:
    """A file to build, and the command that gets it."""

    grammar: str
    command: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Cost:
    """What a command cost: seconds of processor time, bytes of memory, and those of its file. `fault` describes a
    traceback or a crash."""

    seconds: float
    memory: int
    size: int
    fault: str = ""

    @property
    def is_find(self) -> bool:
        """Whether the command used too much, or failed in a way that isn't an error message."""
        return self.seconds > MOST_SECONDS or self.memory > MOST_MEMORY or bool(self.fault)

    @property
    def share(self) -> float:
        """The share of the limits that was used."""
        return max(self.seconds / MOST_SECONDS, self.memory / MOST_MEMORY)

    def __str__(self) -> str:
        cost = f"{self.seconds:.1f} s, {self.memory / 1e6:,.0f} MB for {self.size:,} bytes"
        return f"{cost}: {self.fault}" if self.fault else cost


def cost_of(recipe: AttackRecipe, folder: Path) -> Cost:
    """Build the file of a recipe in a folder, which is emptied first, and run the command."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    report = folder.with_name("report")
    file = GRAMMARS[recipe.grammar]().build(recipe.steps, folder)
    places = {"FILE": str(file), "FOLDER": str(folder), "OUT": str(folder / "out")}
    words = [_placed(word, places) for word in recipe.command]
    child = os.fork()
    if not child:
        _run_command(words, folder, report)
    _, status, usage = os.wait4(child, 0)
    before = int(folder.with_name("resident").read_text())
    text = report.read_text(errors="replace") if report.exists() else ""
    return Cost(
        usage.ru_utime + usage.ru_stime,
        max(usage.ru_maxrss * 1024 - before, 0),
        file.stat().st_size,
        _fault(status, text),
    )


def _placed(word: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        word = word.replace(name, place)
    return word


def _fault(status: int, text: str) -> str:
    if _TRACEBACK in text:
        return text.strip().splitlines()[-1][:200]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGXCPU:
        return f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return ""


def _memory(field: int) -> int:
    """Return the resident memory, or another number of bytes in a field of Linux's file."""
    return int(Path("/proc/self/statm").read_text().split()[field]) * os.sysconf("SC_PAGESIZE")


def _run_command(words: Sequence[str], folder: Path, report: Path) -> None:
    """Run the command line within the limits, and end the process."""
    try:
        output = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(folder)
        os.environ["NETDSL_HOME"] = str(folder / "home")
        folder.with_name("resident").write_text(str(_memory(1)))
        resource.setrlimit(resource.RLIMIT_DATA, (_memory(5) + _ENDING_MEMORY,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (_ENDING_SECONDS, _ENDING_SECONDS + 5))
        signal.alarm(_WAITING)
        warnings.simplefilter("ignore")
        sys.argv = ["zoo", *words]
        from zoo.cli import main

        main()
    except SystemExit:
        pass
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    os._exit(0)
