"""Signals: what Ctrl-C, a closed terminal and SIGTERM do to training."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from netdsl.solver.solver import Action


@contextmanager
def wishes(on_interrupt: Action, on_hangup: Action) -> Iterator[Callable[[], Action]]:
    """A function that says what a signal has asked for since it was called last; SIGTERM always asks to stop.

    A second signal to stop, while the first one hasn't been heard yet, ends the program at once.
    """
    effects = {signal.SIGINT: on_interrupt, signal.SIGTERM: Action.STOP, signal.SIGHUP: on_hangup}
    waiting: list[Action] = []

    def heard(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGHUP and Action.STOP in waiting:
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
