"""Events that report progress while a request is answered: how much work there is and how much is done. Events of a
solver are separate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Listen = Callable[[object], object]  # called with any event


@dataclass(frozen=True)
class WorkStarted:
    """Work begins. `total` is its amount, or `None` if the amount is unknown.

    Work that takes hours names its `unit`. If no terminal can show a bar, its progress is printed in lines.
    """

    doing: str
    total: float | None = None
    unit: str = ""


@dataclass(frozen=True)
class WorkDone:
    """Some of the work is done."""

    items: float = 1


@dataclass(frozen=True)
class WorkEnded:
    """The work has ended, complete or not."""


@dataclass(frozen=True)
class RunBegins:
    """A training run begins. `held_out` is true if the run tests on items that it holds out by default."""

    held_out: bool = False


@dataclass(frozen=True)
class WhatNext:
    """Asks what a running training should do next. The answer is a solver action or `None`."""


def ignore(event: object) -> None:
    """Ignore an event."""


@contextmanager
def work(listen: Listen, doing: str, total: float | None = None) -> Iterator[Callable[..., object]]:
    """Report work through `listen`. The value is a function that reports one finished item, or several."""
    listen(WorkStarted(doing, total))
    try:
        yield lambda items=1: listen(WorkDone(items))
    finally:
        listen(WorkEnded())
