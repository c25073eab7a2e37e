"""Signals as wishes: what Ctrl-C and a closed terminal do to training."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from netdsl.solver.solver import Action

Effects = dict[signal.Signals, Action]


@contextmanager
def wishes(on_interrupt: Action, on_hangup: Action) -> Iterator[Callable[[], Action]]:
    """A function that says what a signal has asked for since it was called last.

    A second Ctrl-C, while the first one's wish hasn't been heard yet, ends the program at once.
    """
    effects = {signal.SIGINT: on_interrupt, signal.SIGHUP: on_hangup}
    waiting: list[Action] = []

    def heard(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and Action.STOP in waiting:
            raise KeyboardInterrupt
        waiting.append(effects[signal.Signals(number)])

    def wish() -> Action:
        return waiting.pop(0) if waiting else Action.NONE

    before = {number: signal.signal(number, heard) for number in effects}
    try:
        yield wish
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
