"""What is told while a request is answered, besides the events of a solver: how much is to be done, and is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Listen = Callable[[object], object]  # to any event


@dataclass(frozen=True)
class WorkStarted:
    """Some work begins: what is done, and how much of it there is, if anybody knows.

    Work that takes hours says in which `unit`; it is told in lines where there is no terminal to show a bar.
    """

    doing: str
    total: float | None = None
    unit: str = ""


@dataclass(frozen=True)
class WorkDone:
    """So much of the work is done."""

    items: float = 1


@dataclass(frozen=True)
class WorkEnded:
    """The work is done, all of it or as far as it goes."""


@dataclass(frozen=True)
class RunBegins:
    """A training begins; `held_out` says that it is tested on items which it leaves out without being asked to."""

    held_out: bool = False


@dataclass(frozen=True)
class WhatNext:
    """The question what a run that is under way should do; the answer is an action of a solver, or None."""


def ignore(event: object) -> None:
    """Do nothing about an event."""


@contextmanager
def work(listen: Listen, doing: str, total: float | None = None) -> Iterator[Callable[..., object]]:
    """Tell of work; the value is a function that tells that an item is done, or more."""
    listen(WorkStarted(doing, total))
    try:
        yield lambda items=1: listen(WorkDone(items))
    finally:
        listen(WorkEnded())
