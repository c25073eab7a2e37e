"""What the doctor says about a part of an installation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """How a part is."""

    GOOD = "good"
    MISSING = "missing"  # it isn't there, and what doesn't need it works
    LIMITED = "limited"  # it works, but slowly, or not for much
    WRONG = "wrong"  # it is there and doesn't work


@dataclass(frozen=True)
class CheckResult:
    """A part of an installation: how it is, what there is, and what to do about it."""

    group: str
    part: str
    verdict: Verdict
    fact: str
    advice: str = ""


def is_healthy(results: list[CheckResult]) -> bool:
    """Whether nothing that is installed is broken."""
    return all(result.verdict is not Verdict.WRONG for result in results)
