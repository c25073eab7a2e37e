"""The course of a run: one generation of workers after the other, until one comes to a good end."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from itertools import count

from netdsl.errors import DistributedError

RETRIES = 3  # new starts without progress, after which a run has failed


class End(Enum):
    """How a run came to its end."""

    FINISHED = "finished"
    STOPPED = "stopped"  # somebody asked for it


class Retries:
    """What lasts from generation to generation: failures since the last progress, and a wish to stop."""

    def __init__(self, asked: Callable[[], bool], retries: int) -> None:
        self._asked, self._retries = asked, retries
        self._failures, self._stopping = 0, False

    def stopping(self) -> bool:
        """Whether there is a wish to stop, which lasts although it is only heard once."""
        self._stopping = self._stopping or self._asked()
        return self._stopping

    def progress(self) -> None:
        """Retries are counted from here."""
        self._failures = 0

    def follow(self, attempt: Callable[[int], str | None], restarted: Callable[[int, str], object]) -> End:
        """Let generations try, each of which says why it failed, if it did; `restarted` is told so before the next."""
        for number in count():
            why = attempt(number)
            if why is None or self.stopping():
                break
            self._note_failure(why)
            restarted(number + 1, why)
        return End.STOPPED if self.stopping() else End.FINISHED

    def _note_failure(self, why: str) -> None:
        """One more, or one too many."""
        self._failures += 1
        if self._failures > self._retries:
            times = f"{self._failures} times " if self._failures > 1 else ""
            raise DistributedError(f"training failed {times}without progress: {why}")
