"""Attempts at a run, one after the other, until one comes to a good end."""

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
    """Failures since the last progress, and a request to stop, which last from attempt to attempt."""

    def __init__(self, stop_requested: Callable[[], bool], most: int) -> None:
        self._stop_requested, self._most = stop_requested, most
        self._failures, self._stopping = 0, False

    def stopping(self) -> bool:
        """Whether somebody asked to stop. The request lasts, although it is only heard once."""
        self._stopping = self._stopping or self._stop_requested()
        return self._stopping

    def note_progress(self) -> None:
        """Count failures anew."""
        self._failures = 0

    def run(self, attempt: Callable[[int], str | None], on_restart: Callable[[int, str], object]) -> End:
        """Make attempts, each of which returns why it failed, if it did; `on_restart` is told so before the next."""
        for number in count():
            reason = attempt(number)
            if reason is None or self.stopping():
                break
            self.note_failure(reason)
            on_restart(number + 1, reason)
        return End.STOPPED if self.stopping() else End.FINISHED

    def note_failure(self, reason: str) -> None:
        """Count a failure; an error if there were too many without progress."""
        self._failures += 1
        if self._failures > self._most:
            times = f"{self._failures} times " if self._failures > 1 else ""
            raise DistributedError(f"training failed {times}without progress: {reason}")
