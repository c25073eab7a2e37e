"""The number of workers that a user asks for: a fixed one, or a range in which workers may be lost and come."""

from __future__ import annotations

import re
from typing import NamedTuple

from netdsl.errors import DistributedError

_FORM = re.compile(r"([0-9]{1,6})(?::([0-9]{1,6}))?")


class WorkerCount(NamedTuple):
    """The number of workers, at most if there is a fewest one."""

    most: int
    fewest: int | None = None

    @classmethod
    def parse(cls, text: str) -> WorkerCount:
        """Return the number that a text such as `4` names, or the range of one such as `2:8`."""
        match = _FORM.fullmatch(text)
        if match is None or int(match[1]) < 1:
            raise DistributedError(f"--workers {text}: give a number such as 4, or a range such as 2:8")
        return cls(int(match[1])) if match[2] is None else cls(int(match[2]), int(match[1]))
