"""What a round was like for one worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Activity(Enum):
    """What a worker does."""

    COMPUTE = "compute"
    WAIT = "wait"  # for others
    EXCHANGE = "exchange"
    BROADCAST = "broadcast"  # beside computing, as are the next two
    REDUCE = "reduce"
    PREPARE = "prepare"
    TEST = "test"
    SAVE = "save"


@dataclass(frozen=True)
class Span:
    """From when to when it did that, by the clock."""

    activity: Activity
    start: float
    stop: float
    shard: int | None = None  # which part of the model, if it is about one


@dataclass
class RoundRecord:
    """A round of a worker."""

    number: int
    rank: int
    start: float
    stop: float = 0.0
    iteration: int = 0  # at its end
    steps: int = 0
    compute: float = 0.0  # seconds
    wait: float = 0.0
    exchange: float = 0.0
    bytes: int = 0
    divergence: float | None = None  # the distance from the mean of all, before that is taken over
    accuracy: dict[str, float] = field(default_factory=dict)  # what test nets gave, by name
    spans: list[Span] = field(default_factory=list)
    host: str = ""  # that the worker was on, where there can be several
