"""Starts workers, watches them all at once, and starts them all again when one is lost."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from enum import Enum
from itertools import count
from pathlib import Path
from types import FrameType

from netdsl.distributed.local.generation import CommandOf, Generation, Member, Message
from netdsl.distributed.local.place import Exit
from netdsl.errors import DistributedError

_LOOK = 0.2  # seconds between two looks for signs of life
_STOPPED = 5 * _LOOK  # seconds between two looks: this process itself was stopped, perhaps with all others


@dataclass(frozen=True)
class Care:
    """How workers are looked after."""

    deadline: float = 60.0  # seconds that a worker may be without a sign of life
    grace: float = 1.0  # seconds for the others to end when one is lost
    retries: int = 3  # new starts without progress, after which the run has failed


class End(Enum):
    """How a run came to its end."""

    FINISHED = "finished"
    STOPPED = "stopped"  # somebody asked for it


def run(
    command_of: CommandOf,
    size: int,
    logs: Path,
    *,
    care: Care = Care(),
    heard: Callable[[int, Message], bool] = lambda rank, message: False,
    restarted: Callable[[int, str], object] = lambda generation, why: None,
    wanted: Callable[[], bool] | None = None,
) -> End:
    """Run workers to their end.

    `command_of` gives the command line for a place, in which its text must be. `heard` gets what a worker tells, and
    says whether that is progress, after which the count of retries begins again. `restarted` gets the number of a new
    generation and why the one before failed. `wanted` is asked whether workers shall stop after their round; without
    it SIGINT and SIGTERM say so, and a second one ends them at once.
    """
    logs.mkdir(parents=True, exist_ok=True)
    failures = _Failures(heard)
    with _signals() if wanted is None else nullcontext(wanted) as asked:
        stop = _Stop(asked)
        for number in count():
            with Generation(command_of, size, number, logs, care.deadline) as generation:
                well = _watch(generation, failures.hear, stop)
                why = "" if well else generation.collapse(care.grace, failures.hear)
            if well or stop.wanted():
                break
            failures.note(why, care.retries)
            restarted(number + 1, why)
    return End.STOPPED if stop.wanted() else End.FINISHED


@dataclass
class _Stop:
    """A wish to stop, which lasts although it is only heard once."""

    asked: Callable[[], bool]
    heard: bool = False

    def wanted(self) -> bool:
        """Whether there is one."""
        self.heard = self.heard or self.asked()
        return self.heard


class _Failures:
    """How many there were since the last progress."""

    def __init__(self, heard: Callable[[int, Message], bool]) -> None:
        self._heard, self._count = heard, 0

    def hear(self, rank: int, message: Message) -> None:
        """Hand on what a worker tells."""
        if self._heard(rank, message):
            self._count = 0

    def note(self, why: str, retries: int) -> None:
        """One more, or one too many."""
        self._count += 1
        if self._count > retries:
            times = f"{self._count} times " if self._count > 1 else ""
            raise DistributedError(f"training failed {times}without progress: {why}")


def _watch(generation: Generation, hear: Callable[[int, Message], object], stop: _Stop) -> bool:
    """Whether all workers came to a good end. It is over with the first one that didn't."""
    running, told = len(generation.members), False
    since = looked = time.monotonic()
    while running:
        if not told and stop.wanted():
            generation.stop()
            told = True
        match generation.next(_LOOK):
            case rank, None:
                running -= 1
                if not _ended_well(generation.members[rank]):
                    return False
            case rank, dict(message):
                _raise_error(rank, message)
                hear(rank, message)
        now = time.monotonic()
        since = now if now - looked > _STOPPED else since
        looked = now
        if generation.hung(since):
            return False
    return True


def _raise_error(rank: int, message: Message) -> None:
    """An error that a worker found itself would come again, so it ends the run."""
    if "error" in message:
        raise DistributedError(f"worker {rank}: {message['error']}")


def _ended_well(member: Member) -> bool:
    if member.process.returncode == Exit.FAILED:
        raise DistributedError(f"{member.ending()}; {member.last_words()}")
    return member.process.returncode == 0


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Take SIGINT and SIGTERM for wishes to stop; only a process's main thread can."""
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(caught)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
