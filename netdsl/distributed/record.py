"""The record of a round in one worker: how long it took, and for what."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Activity(Enum):
    """Something that takes a worker's time."""

    COMPUTE = "compute"
    WAIT = "wait"  # for others
    EXCHANGE = "exchange"
    BROADCAST = "broadcast"  # beside computing, as are the next two
    REDUCE = "reduce"
    PREPARE = "prepare"
    PUSH = "push"  # to a shared variable, also beside computing
    TEST = "test"
    SAVE = "save"


@dataclass(frozen=True)
class Span:
    """The time from when to when a worker did something, by its clock."""

    activity: Activity
    start: float
    stop: float
    shard: int | None = None  # the shard of the model that was exchanged or prepared


@dataclass
class RoundRecord:
    """The numbers and times of one round of one worker."""

    number: int
    rank: int
    start: float
    stop: float = 0.0
    iteration: int = 0  # at the end of the round
    steps: int = 0
    compute: float = 0.0  # seconds
    wait: float = 0.0
    exchange: float = 0.0
    bytes: int = 0
    divergence: float | None = None  # the distance of the weights from the mean of all workers, before they take it
    accuracy: dict[str, float] = field(default_factory=dict)  # the outputs of test nets, by name
    spans: list[Span] = field(default_factory=list)
    memory: int = 0  # bytes of its device that the worker took at most, until the end of the round
    host: str = ""  # the machine that the worker was on, if there can be several
