"""A solver among others: it trains, exchanges, and notes what that took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor

from netdsl.distributed.communicator import Communicator, Handle
from netdsl.distributed.record import Activity, RoundRecord, Span
from netdsl.distributed.supervision.heartbeat import Pulse
from netdsl.solver.solver import Solver

_CACHED = 1 << 17  # values: a stretch of two models stays in a core's cache


class Clock(Protocol):
    """The time of a worker: the machine's own, or a simulator's."""

    def now(self) -> float:
        """Seconds since some beginning, which all workers of a machine share."""
        ...

    def computed(self, iteration: int) -> None:
        """Note that an iteration was computed, from the last call of this clock until now."""
        ...


class RealClock:
    """The machine's clock, on which time passes by itself."""

    def now(self) -> float:
        """Seconds since the same beginning for all processes of a machine."""
        return time.time()

    def computed(self, iteration: int) -> None:
        """Nothing is left to do."""


class Worker:
    """What a strategy works with.

    `weights` is the flat buffer of all blobs, of which the first `learned` values learn; the others, such as
    BatchNorm's sums, are only kept.
    """

    def __init__(
        self,
        solver: Solver,
        communicator: Communicator,
        clock: Clock | None = None,
        pulse: Pulse | None = None,
    ) -> None:
        self.solver, self.communicator, self.clock = solver, communicator, clock or RealClock()
        self._pulse = pulse or Pulse()
        self.weights, self.learned = solver.weights.buffer, solver.weights.learned_size
        self.rank, self.size = communicator.rank, communicator.size
        self._mean: Tensor | None = None
        self._exchanging = 0.0  # seconds until now
        self.last: RoundRecord | None = None  # of the round before
        self.record = self._begun(0)

    @property
    def remaining(self) -> int:
        """How many iterations are left."""
        return max(0, self.solver.param.max_iter - self.solver.iteration)

    def train(self, steps: int) -> int:
        """Train for so many iterations, if as many are left; how many there were."""
        count = min(steps, self.remaining)
        for _ in range(count):
            self.iterate()
        return count

    def train_for(self, seconds: float) -> int:
        """Train for so long, for one iteration at least if one is left; how many there were."""
        end, count = self.clock.now() + seconds, 0
        while self.remaining and (not count or self.clock.now() < end):
            self.iterate()
            count += 1
        return count

    def iterate(self) -> None:
        """Train for one iteration."""
        start, before = self.clock.now(), self._exchanging
        self.solver.iterate()
        self.clock.computed(self.solver.iteration)
        self._pulse.beat()
        self.record.steps += 1
        self.record.compute -= self._exchanging - before  # what a strategy exchanges within an iteration
        self._note(Activity.COMPUTE, start)

    def finish(self, handle: Handle) -> None:
        """Wait for an exchange."""
        start, before = self.clock.now(), self.communicator.traffic.waited
        handle.wait()
        stop = self.clock.now()
        came = min(start + self.communicator.traffic.waited - before, stop)  # the last of the others
        self._exchanging += stop - start
        self._add(Span(Activity.WAIT, start, came))
        self._add(Span(Activity.EXCHANGE, came, stop))

    @contextmanager
    def doing(self, activity: Activity, shard: int | None = None) -> Iterator[None]:
        """Note what is done inside."""
        start = self.clock.now()
        yield
        self._note(activity, start, shard)

    def averaged(self, weight: float = 1.0) -> Tensor:
        """The mean of all workers' blobs, in a buffer that is valid until the next call; how far ours are is noted."""
        mean = self._averaged(weight)
        self.record.divergence = torch.dist(self.weights[: self.learned], mean[: self.learned]).item()
        return mean

    def take_mean(self, weight: float = 1.0) -> None:
        """Go on with the mean of all workers' blobs; how far ours were is noted.

        On a processor a stretch is looked at and taken while it is in the cache.
        """
        mean, longest = self._averaged(weight), _CACHED if self.weights.device.type == "cpu" else self.weights.numel()
        squares = mean.new_zeros(())
        for start in range(0, self.weights.numel(), longest):
            stop = min(start + longest, self.weights.numel())
            learned = slice(start, max(start, min(stop, self.learned)))
            squares += torch.dist(self.weights[learned], mean[learned]).square()
            self.weights[start:stop].copy_(mean[start:stop])
        self.record.divergence = squares.sqrt().item()

    def _averaged(self, weight: float) -> Tensor:
        if self._mean is None:
            self._mean = torch.empty_like(self.weights)
        self._mean.copy_(self.weights)
        self.finish(self.communicator.mean(self._mean, weight))
        return self._mean

    def agree_on_iteration(self, iteration: int) -> None:
        """Go on as if so many iterations were done, so that all learn at one rate."""
        self.solver.iteration = iteration

    def begin_round(self) -> None:
        """Begin a new record."""
        self.record = self._begun(self.record.number + 1)

    def end_round(self) -> RoundRecord:
        """The record, which is complete."""
        record, traffic = self.record, self.communicator.traffic
        record.stop, record.iteration = self.clock.now(), self.solver.iteration
        record.wait, record.exchange = traffic.waited - self._waited, traffic.moved - self._moved
        record.bytes = traffic.bytes - self._bytes
        self.last = record
        return record

    def _begun(self, number: int) -> RoundRecord:
        traffic = self.communicator.traffic
        self._waited, self._moved, self._bytes = traffic.waited, traffic.moved, traffic.bytes
        return RoundRecord(number, self.rank, self.clock.now())

    def _note(self, activity: Activity, start: float, shard: int | None = None) -> None:
        stop = self.clock.now()
        if activity is Activity.COMPUTE:
            self.record.compute += stop - start
        self._add(Span(activity, start, stop, shard))

    def _add(self, span: Span) -> None:
        """As a part of the last one, if that is of the same kind: one long span of many iterations."""
        spans, start = self.record.spans, span.start
        if spans and (spans[-1].activity, spans[-1].shard) == (span.activity, span.shard):
            start = spans.pop().start
        if span.stop > start:
            spans.append(replace(span, start=start))
