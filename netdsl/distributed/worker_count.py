"""The number of workers that a user requests: a fixed number, or a range within which workers may be lost and join."""

from __future__ import annotations

import re
from typing import NamedTuple

from netdsl.errors import DistributedError

_FORM = re.compile(r"([0-9]{1,6})(?::([0-9]{1,6}))?")


class WorkerCount(NamedTuple):
    """The number of workers, or the largest number if `fewest` is set."""

    most: int
    fewest: int | None = None

    @classmethod
    def parse(cls, text: str) -> WorkerCount:
        """Parse a number of workers such as `4`, or a range such as `2:8`."""
        match = _FORM.fullmatch(text)
        if match is None or int(match[1]) < 1:
            raise DistributedError(
                f"--workers {text}: not a number of workers; give a number such as 4, or a range such as 2:8"
            )
        return cls(int(match[1])) if match[2] is None else cls(int(match[2]), int(match[1]))
