"""What came of trying a part of an installation out, and what the doctor says about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """What came of a probe: its result, as plain values of JSON, or the problem that it met."""

    result: Any = None
    problem: str = ""


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


@dataclass(frozen=True)
class Diagnosis:
    """How an installation is, and each part of it."""

    healthy: bool
    checks: tuple[CheckResult, ...]

    @property
    def good(self) -> bool:
        """Whether nothing that is installed is broken."""
        return self.healthy


def diagnosis_of(checks: Iterable[CheckResult]) -> Diagnosis:
    """Return the diagnosis that some checks give."""
    results = tuple(checks)
    return Diagnosis(all(result.verdict is not Verdict.WRONG for result in results), results)
