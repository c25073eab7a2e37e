"""The outcomes of probes, and the doctor's results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """The outcome of a probe: its result as JSON values, or the problem.

    `missing` means that something isn't installed, which isn't a fault.
    """

    result: Any = None
    problem: str = ""
    missing: bool = False


class Verdict(Enum):
    """The state of a part."""

    GOOD = "good"
    MISSING = "missing"  # not installed, and only needed for some features
    LIMITED = "limited"  # works slowly, or only in some cases
    WRONG = "wrong"  # installed, but doesn't work


@dataclass(frozen=True)
class CheckResult:
    """A part of an installation: its state, the facts, and advice."""

    group: str
    part: str
    verdict: Verdict
    fact: str
    advice: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """The state of an installation and of each of its parts."""

    healthy: bool
    checks: tuple[CheckResult, ...]

    @property
    def good(self) -> bool:
        """Whether every installed part works."""
        return self.healthy


def diagnosis_of(checks: Iterable[CheckResult]) -> Diagnosis:
    """Return the diagnosis from the results of checks."""
    results = tuple(checks)
    return Diagnosis(all(result.verdict is not Verdict.WRONG for result in results), results)
