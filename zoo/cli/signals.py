"""Signals that stop or save a training."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from netdsl.solver.events import Action


@contextmanager
def signal_actions(on_interrupt: Action, on_hangup: Action) -> Iterator[Callable[[], Action]]:
    """Yield a function that returns the pending action, one at each call. SIGTERM always means to stop.

    A second signal to stop ends the program at once if the first one's action hasn't been returned yet.
    """
    actions = {signal.SIGINT: on_interrupt, signal.SIGTERM: Action.STOP, signal.SIGHUP: on_hangup}
    pending: list[Action] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGHUP and Action.STOP in pending:
            raise KeyboardInterrupt
        pending.append(actions[signal.Signals(number)])

    def next_action() -> Action:
        return pending.pop(0) if pending else Action.NONE

    previous_handlers = {number: signal.signal(number, handle) for number in actions}
    try:
        yield next_action
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
