"""Starts workers, watches them all at once, and starts them all again when one is lost."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from netdsl.distributed.launchers.local_worker_spec import Exit
from netdsl.distributed.launchers.worker_processes import CommandOf, Generation, Member, Message
from netdsl.distributed.supervision.retries import RETRIES, End, Retries
from netdsl.errors import DistributedError

_LOOK = 0.2  # seconds between two looks for signs of life
_STOPPED = 5 * _LOOK  # seconds between two looks: this process itself was stopped, perhaps with all others


@dataclass(frozen=True)
class Care:
    """How workers are looked after."""

    deadline: float = 60.0  # seconds that a worker may be without a sign of life
    grace: float = 1.0  # seconds for the others to end when one is lost
    retries: int = RETRIES


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
    with _signals() if wanted is None else nullcontext(wanted) as asked:
        course = Retries(asked, care.retries)

        def hear(rank: int, message: Message) -> None:
            if heard(rank, message):
                course.progress()

        def attempt(number: int) -> str | None:
            with Generation(command_of, size, number, logs, care.deadline) as generation:
                return None if _watch(generation, hear, course) else generation.collapse(care.grace, hear)

        return course.follow(attempt, restarted)


def _watch(generation: Generation, hear: Callable[[int, Message], object], course: Retries) -> bool:
    """Whether all workers came to a good end. It is over with the first one that didn't."""
    running, told = len(generation.members), False
    since = looked = time.monotonic()
    while running:
        if not told and course.stopping():
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
