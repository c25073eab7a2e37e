"""The cost of exchanges on a network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum


class ExchangeKind(Enum):
    """The kinds of exchanges."""

    MEAN = "mean"
    REDUCE = "reduce"
    BROADCAST = "broadcast"
    SEND = "send"
    BARRIER = "barrier"


@dataclass(frozen=True)
class Link:
    """A worker's connection to a switch: bytes a second in each direction, and seconds until the first one arrives."""

    bandwidth: float = math.inf
    latency: float = 0.0

    def seconds(self, kind: ExchangeKind, size: int, bytes_: int) -> float:
        """The time that an exchange of `bytes_` among `size` workers takes.

        A mean is a ring's reduce-scatter and all-gather, a reduction a binary tree, and a broadcast a swarm, in which
        all workers send on what they have received.
        """
        once = bytes_ / self.bandwidth
        depth = math.ceil(math.log2(size)) if size > 1 else 0
        match kind:
            case ExchangeKind.MEAN:
                return 2 * (size - 1) * (self.latency + once / size)
            case ExchangeKind.REDUCE:
                return depth * (self.latency + once)
            case ExchangeKind.BROADCAST:
                return depth * self.latency + (once if depth else 0.0)
            case ExchangeKind.SEND:
                return self.latency + once
            case ExchangeKind.BARRIER:
                return 2 * depth * self.latency
