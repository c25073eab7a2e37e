"""What can be asked of a solver that is running."""

from __future__ import annotations

from enum import Enum


class Action(Enum):
    """A request to a solver that is running."""

    NONE = "none"
    STOP = "stop"
    SNAPSHOT = "snapshot"


def no_action() -> Action:
    """Request nothing: the default `poll_action`."""
    return Action.NONE
