"""The machines of a cluster: the cost of exchanges between them, and the speed of each machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from netdsl.errors import DistributedError


class ExchangeKind(Enum):
    """The kinds of exchanges."""

    MEAN = "mean"
    REDUCE = "reduce"
    BROADCAST = "broadcast"
    SEND = "send"
    BARRIER = "barrier"


@dataclass(frozen=True)
class Link:
    """A worker's connection to a switch: bytes per second in each direction, and seconds until the first byte
    arrives."""

    bandwidth: float = math.inf
    latency: float = 0.0

    def seconds(self, kind: ExchangeKind, size: int, bytes_: int) -> float:
        """Return the seconds that an exchange of `bytes_` among `size` workers takes.

        A mean is a ring's reduce-scatter and all-gather, a reduction is a binary tree, and a broadcast is a swarm, in
        which all workers pass on the parts that they have received.
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


@dataclass(frozen=True)
class SparkLink(Link):
    """A worker's connection where Spark's own jobs exchange models, through a driver on its own machine.

    A job takes `job` seconds in addition to its transfers. A machine serialises or deserialises `codec` bytes per
    second. A reduction is Spark's treeAggregate with this `depth`. While that saves time, groups of workers send to one
    of their members. The remaining workers send to the driver, which receives one buffer after the other. With a depth
    of 1 all workers send to the driver, as SparkNet's workers do. A broadcast is a swarm, as on other links. A buffer
    for a single other worker doesn't pass through Spark.
    """

    codec: float = 4e8
    job: float = 0.1
    depth: int = 2

    def seconds(self, kind: ExchangeKind, size: int, bytes_: int) -> float:
        """Return the seconds that an exchange takes. A mean is a reduction followed by a broadcast."""
        if size == 1 or kind in (ExchangeKind.SEND, ExchangeKind.BARRIER):
            return super().seconds(kind, size, bytes_)
        broadcast = super().seconds(ExchangeKind.BROADCAST, size, bytes_) + 2 * bytes_ / self.codec
        match kind:
            case ExchangeKind.BROADCAST:
                return broadcast
            case ExchangeKind.REDUCE:
                return self._reduction_seconds(size, bytes_)
            case _:
                return self._reduction_seconds(size, bytes_) + broadcast

    def _reduction_seconds(self, size: int, bytes_: int) -> float:
        """Return the seconds until the driver has the sum. The driver, and each worker that adds up, receives one
        buffer at a time."""
        coded = bytes_ / self.codec
        taken = self.latency + bytes_ / self.bandwidth + coded
        group = max(math.ceil(size ** (1 / self.depth)), 2)
        seconds, senders = self.job + coded, size
        while senders > group + math.ceil(senders / group):
            senders //= group
            seconds += (group - 1) * taken + coded
        return seconds + senders * taken


@dataclass(frozen=True)
class RelayLink(Link):
    """A worker's connection to the machine that adds up and passes on all buffers.

    That machine has a connection of the same kind, over which it receives the buffers of all workers and sends to all
    of them, in both directions at once.
    """

    def seconds(self, kind: ExchangeKind, size: int, bytes_: int) -> float:
        """Return the seconds that an exchange takes. Whatever a worker receives has gone to the machine before."""
        if size == 1:
            return 0.0
        match kind:
            case ExchangeKind.MEAN | ExchangeKind.REDUCE:
                buffers = size
            case ExchangeKind.BROADCAST:
                buffers = size - 1
            case ExchangeKind.SEND:
                buffers = 1
            case ExchangeKind.BARRIER:
                buffers = 0
        return 2 * self.latency + buffers * bytes_ / self.bandwidth


@dataclass(frozen=True)
class SharedLink(Link):
    """The connections of machines with `per_machine` workers each, which exchange as if they were alone.

    Each worker sends to all others, and a machine's connection carries what its workers send to other machines.
    """

    per_machine: int = 1

    def seconds(self, kind: ExchangeKind, size: int, bytes_: int) -> float:
        """Return the seconds that an exchange takes. Buffers that stay on a machine take no time."""
        if kind is not ExchangeKind.MEAN:
            return super().seconds(kind, size, bytes_)
        here = min(size, self.per_machine)
        return 2 * (size - 1) * self.latency + 2 * here * (size - here) / size * bytes_ / self.bandwidth


@dataclass(frozen=True)
class SharedMemoryLink(Link):
    """The connections of workers that exchange through their machine's memory and share its bandwidth.

    The time depends on how much the workers read and write together. For a mean, every worker writes the shares of the
    others, adds up its own share, and reads the sums. A worker that receives a buffer copies it from the sender's copy.
    Each exchange has its own thread, which wakes up after the latency.
    """

    latency: float = 3e-4

    def seconds(self, kind: ExchangeKind, size: int, bytes_: int) -> float:
        """Return the seconds that an exchange takes."""
        if size == 1 or kind is ExchangeKind.BARRIER:
            return super().seconds(kind, size, bytes_)
        match kind:
            case ExchangeKind.MEAN:
                times = 2 * (size - 1) + size + 2 + 2 * (size - 1)  # written, added up and read
            case ExchangeKind.REDUCE:
                times = 2 * (size - 1) + size + 3
            case ExchangeKind.BROADCAST:
                times = 2 * size
            case ExchangeKind.SEND:
                times = 4
        return self.latency + times * bytes_ / self.bandwidth


@dataclass(frozen=True)
class TwoLevelLink(Link):
    """The connections of workers on several machines, with `per_machine` workers on each.

    `inside` is the link within a machine, and the other fields describe the network. A mean is first computed within
    each machine, then among the machines, each of which sends everything once over the network. Other exchanges of all
    workers work in the same way. A buffer for a single other worker goes over the network.
    """

    inside: Link = Link()
    per_machine: int = 1

    def seconds(self, kind: ExchangeKind, size: int, bytes_: int) -> float:
        """Return the seconds that an exchange takes."""
        if kind is ExchangeKind.SEND:
            return super().seconds(kind, size, bytes_)
        machines = math.ceil(size / self.per_machine)
        return self.inside.seconds(kind, min(size, self.per_machine), bytes_) + super().seconds(kind, machines, bytes_)


@dataclass(frozen=True)
class Machines:
    """The speed of simulated workers: the seconds of an iteration, by a worker's rank and the iteration's number.

    The last `stragglers` of `size` workers take `slowdown` times as long as the others. The last `lost` workers are
    lost for good after `lost_after` iterations. `jitter` is the standard deviation of the logarithm of an iteration's
    time. The time is lognormal, and jitter doesn't change its mean.
    """

    step: float = 0.0
    size: int = 1
    stragglers: int = 0
    slowdown: float = 2.0
    jitter: float = 0.0
    lost: int = 0
    lost_after: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.stragglers <= self.size:
            raise DistributedError(
                f"there can't be {self.stragglers} stragglers among {self.size} workers; lower --stragglers"
            )
        if not 0 <= self.lost < self.size:
            raise DistributedError(
                f"{self.lost} of {self.size} workers can't be lost, because the first one always remains; lower --lost"
            )
        if self.step < 0 or self.jitter < 0 or self.slowdown <= 0:
            raise DistributedError(
                "the step, the jitter or the slowdown is out of range; give a step and a jitter of 0 or more, and a "
                "slowdown above 0"
            )

    def __call__(self, rank: int, iteration: int) -> float:
        """Return the seconds that a worker takes for an iteration."""
        if self.lost and rank >= self.size - self.lost and iteration > self.lost_after:
            return math.inf
        slow = self.slowdown if rank >= self.size - self.stragglers else 1.0
        return self.step * slow * self._random_number(rank, iteration)

    def _random_number(self, rank: int, iteration: int) -> float:
        if not self.jitter:
            return 1.0
        random = np.random.default_rng((self.seed, rank, iteration))
        return float(random.lognormal(-(self.jitter**2) / 2, self.jitter))
