"""What a strategy says of its traffic: which bytes are exchanged, how often, and who waits for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Self

from netdsl.distributed.link import ExchangeKind, Link
from netdsl.distributed.strategies.pace import Tau
from netdsl.solver.flat import BlobGroup, FlatWeights


@dataclass(frozen=True)
class ModelSize:
    """The bytes of a model's blobs: of each that learns, in groups of equal multipliers, and of all others together."""

    learned: tuple[tuple[int, ...], ...]
    statistics: int = 0

    @classmethod
    def of(cls, weights: FlatWeights) -> Self:
        """The size of the blobs in a flat buffer, each with the gap to the next one."""
        value = weights.buffer.element_size()
        groups = tuple(tuple(value * length for length in _lengths(group)) for group in weights.groups)
        return cls(groups, value * (weights.buffer.numel() - weights.learned_size))

    @property
    def learned_bytes(self) -> int:
        """The bytes of all blobs that learn."""
        return sum(map(sum, self.learned))

    @property
    def bytes(self) -> int:
        """The bytes of all blobs."""
        return self.learned_bytes + self.statistics


def _lengths(group: BlobGroup) -> list[int]:
    return [stop - start for start, stop in pairwise([*(blob.start for blob in group.blobs), group.stop])]


@dataclass(frozen=True)
class Transfer:
    """Bytes that workers exchange, in so many nearly equal pieces one after the other."""

    kind: ExchangeKind
    bytes: int
    pieces: int = 1

    def seconds(self, link: Link, workers: int) -> float:
        """The time that all pieces take."""
        size, longer = divmod(self.bytes, self.pieces)
        seconds = [link.seconds(self.kind, workers, length) for length in (size, size + 1)]
        return (self.pieces - longer) * seconds[0] + longer * seconds[1]


class Waiting(Enum):
    """Whom a worker waits for at the end of a round."""

    ALL = "all"  # all others, and until everything is exchanged
    SERVER = "server"  # its turn at a server, which sends to one worker at a time, and receives from one at a time
    NOBODY = "nobody"


@dataclass(frozen=True)
class StrategyTraffic:
    """What the workers of a strategy exchange, and when.

    A round is `tau` iterations, or as many as a worker can do in `seconds`. Before the first one the first worker alone
    does `warmup` iterations, and all exchange what is in `begin`. Everybody waits for what is exchanged in each
    `iteration`, which is gradients, each piece as soon as it is computed, and in each `round`. What is `hidden` goes on
    beside computing: once a round with a server, else again and again, all of it at the same time. What is in `finish`
    is exchanged after the last round.
    """

    tau: Tau
    begin: Sequence[Transfer]
    iteration: Sequence[Transfer] = ()
    round: Sequence[Transfer] = ()
    hidden: Sequence[Transfer] = ()
    finish: Sequence[Transfer] = ()
    waiting: Waiting = Waiting.ALL
    seconds: float = 0.0
    warmup: int = 0
