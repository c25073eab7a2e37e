"""Who of the workers is there, alive, and at its end, as their signs tell."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import IntEnum

from netdsl.distributed.supervision.heartbeat import Sign

START = 120.0  # seconds for all tasks to begin
_STUCK = 5.0  # deadlines in which everybody only waits
_STOPPED = 5.0  # seconds between two looks: this process itself was stopped, perhaps with all others


class Ending(IntEnum):
    """How a worker ended, the first of which says most about what went wrong."""

    CRASHED = 0  # with an exception
    GONE = 1  # without a word
    LOST = 2  # because it lost another
    DONE = 3


@dataclass
class _Member:
    host: str
    sign: float  # the time of the last one
    worked: float  # of the last one that isn't of waiting
    ending: Ending | None = None
    why: str = ""


@dataclass
class Health:
    """How `size` workers are that have a deadline for their signs of life."""

    size: int
    deadline: float
    members: dict[int, _Member] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._looked = self._since

    def welcome(self, rank: int, host: str) -> None:
        """A worker begins."""
        now = time.monotonic()
        self.members[rank] = _Member(host, now, now)

    def note_sign(self, rank: int, sign: Sign) -> None:
        """A worker is alive."""
        member, now = self.members[rank], time.monotonic()
        member.sign = now
        if sign is Sign.WORKING:
            member.worked = now

    def note_end(self, rank: int, ending: Ending, why: str = "") -> None:
        """A worker ended; what it said itself counts, not what is seen later."""
        member = self.members[rank]
        if member.ending is None:
            member.ending, member.why = ending, why

    def all_done(self) -> bool:
        """Whether all came to a good end."""
        return [each.ending for each in self.members.values()] == [Ending.DONE] * self.size

    def name(self, rank: int) -> str:
        """What to call a worker."""
        return f"worker {rank} on {self.members[rank].host}"

    def blame(self) -> str:
        """Who ended badly, and why: those who say most about it."""
        bad = {rank: each for rank, each in self.members.items() if each.ending not in (None, Ending.DONE)}
        worst = min((each.ending or Ending.CRASHED for each in bad.values()), default=None)
        return "; ".join(f"{self.name(rank)} {each.why}" for rank, each in bad.items() if each.ending is worst)

    def silence(self) -> str:
        """Who should have given a sign by now."""
        now = time.monotonic()
        if now - self._looked > _STOPPED:
            self._since = now
        self._looked = now
        running = {rank: each for rank, each in self.members.items() if each.ending is None}
        hung = [rank for rank, each in running.items() if now - max(each.sign, self._since) > self.deadline]
        if hung:
            return f"{', '.join(map(self.name, hung))} gave no sign of life for {self.deadline:g} s"
        if len(self.members) < self.size and now - self._since > START:
            return f"only {len(self.members)} of {self.size} tasks began within {START:g} s"
        worked = max((each.worked for each in running.values()), default=now)
        if now - max(worked, self._since) > _STUCK * self.deadline:
            return f"all workers wait for each other since {_STUCK * self.deadline:g} s"
        return ""
