"""One command of the user, from its start to its end, with its disturbances."""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.chaos.disturbances import Disturbance
from tests.chaos.faults import NO_FAULTS, Faults
from tests.chaos.processes import MarkedCommand, kill_all, marked_processes, wait_until
from tests.chaos.settings import RUN, TrainingSetting

_LOOK = 0.03  # seconds between two checks
_SAY_WHERE = 5.0  # seconds for a hanging process to print its stacks


@dataclass
class CommandResult:
    """How a command ended, and what happened to it."""

    code: int
    text: str
    seconds: float
    disturbances: list[Disturbance] = field(default_factory=list)
    hung: str = ""  # the system's description of its processes
    others: list[CommandResult] = field(default_factory=list)  # of commands at the same time

    @property
    def restarts(self) -> int:
        """The number of times that all workers restarted."""
        return self.text.count("all workers start again from")


class UserCommands:
    """The commands of one case, in its folder. A late disturbance of one command may happen while the next one runs.

    Leaving the context ends all processes that they started.
    """

    def __init__(
        self, setting: TrainingSetting, folder: Path, total: int, patience: float, faults: Faults = NO_FAULTS
    ) -> None:
        self._setting, self._folder, self._mark = setting, folder, secrets.token_hex(8)
        self._environment = faults.environment(folder) if faults != NO_FAULTS else {}
        self._total, self._patience = total, patience
        self._later: list[tuple[float, Callable[[], object]]] = []
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        kill_all(self._mark)

    @property
    def finished(self) -> bool:
        """Whether the training run has come as far as an undisturbed run at its end."""
        return self._setting.progress(self._folder) >= self._total

    def run(self, disturbances: Sequence[Disturbance] = (), run_folder: str = RUN) -> CommandResult:
        """Run a command to its end."""
        self._count += 1
        setting, folder, start = self._setting, self._folder, time.monotonic()
        words = [run_folder if word == RUN else word for word in setting.command(folder)]
        mark = f"{self._mark}/{self._count}"
        command = MarkedCommand(words, folder, mark, folder / f"output-{self._count}.txt", self._environment)
        ahead, result = _Ahead(disturbances, setting.progress(folder), self._total), CommandResult(0, "", 0.0)
        seen, changed = self._signs(command), start
        while not all(each.code is not None for each in (command, *command.others)):
            self._run_due_disturbances()
            if (signs := self._signs(command)) != seen:
                seen, changed = signs, time.monotonic()
            if (disturbance := ahead.due(signs[0])) is not None and self._disturb(command, disturbance):
                ahead.drop()
                result.disturbances.append(disturbance)
                changed = time.monotonic()
            if time.monotonic() - changed > self._patience:
                result.hung = self._end_hung(command)
            time.sleep(_LOOK)
        assert command.code is not None
        result.code, result.text, result.seconds = command.code, command.text(), time.monotonic() - start
        result.others = [CommandResult(other.code or 0, other.text(), 0.0) for other in command.others]
        return result

    def left_processes(self, seconds: float) -> list[str]:
        """Let stopped processes continue. Returns the processes that still exist after this many seconds."""
        for _, action in self._later:
            action()
        for process in marked_processes(self._mark):
            process.send(signal.SIGCONT)
        wait_until(lambda: not marked_processes(self._mark), seconds)
        return [process.description() for process in marked_processes(self._mark)]

    def _disturb(self, command: MarkedCommand, disturbance: Disturbance) -> bool:
        """Carry out a disturbance. Returns whether it found a process to hit."""
        now = time.monotonic()
        later = disturbance.happen(command, self._setting.launcher)
        self._later += [(now + seconds, action) for seconds, action in later or ()]
        return later is not None

    def _run_due_disturbances(self) -> None:
        now = time.monotonic()
        for moment, action in [each for each in self._later if each[0] <= now]:
            action()
            self._later.remove((moment, action))

    def _signs(self, command: MarkedCommand) -> tuple[int, ...]:
        """Return the visible signs of progress: how far the run is, and how much it has written."""
        outputs = [each.output for each in (command, *command.others)]
        files = [*outputs, *(self._folder / RUN).glob("*.jsonl"), *(self._folder / RUN / "logs").glob("*")]
        return self._setting.progress(self._folder), *(path.stat().st_size for path in files if path.exists())

    def _end_hung(self, command: MarkedCommand) -> str:
        """End a hanging command. Returns where its processes were. They write their stacks to their logs."""
        processes = marked_processes(self._mark)
        text = "\n".join(process.description() for process in processes)
        for process in processes:
            process.send(signal.SIGABRT)
            process.send(signal.SIGCONT)
        wait_until(lambda: all(process.has_ended for process in processes), _SAY_WHERE)
        kill_all(self._mark)
        for each in (command, *command.others):
            each.process.wait()
        return text


class _Ahead:
    """The pending disturbances, in order."""

    def __init__(self, disturbances: Sequence[Disturbance], done: int, total: int) -> None:
        self._rest, self._done, self._remaining = list(disturbances), done, total - done
        self._moment: float | None = None

    def due(self, progress: int) -> Disturbance | None:
        """Return the next disturbance if its time has come. Progress counts from the command's start."""
        if not self._rest:
            return None
        disturbance = self._rest[0]
        if self._moment is None and progress - self._done >= disturbance.progress * self._remaining:
            self._moment = time.monotonic() + disturbance.delay
        return disturbance if self._moment is not None and time.monotonic() >= self._moment else None

    def drop(self) -> None:
        """Move on to the next disturbance."""
        self._rest.pop(0)
        self._moment = None
