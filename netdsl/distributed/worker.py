"""A worker: a solver that trains with others, exchanges blobs with them, and records the times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

import torch
from torch import Tensor

from netdsl.distributed.communicator import Communicator, Handle
from netdsl.distributed.control.heartbeat import Pulse
from netdsl.distributed.run_log import Activity, RoundRecord, Span
from netdsl.solver.length import Intervals, is_due
from netdsl.solver.solver import Solver

_CACHED = 1 << 17  # number of values of two models that fit into a core's cache


class Clock(Protocol):
    """The clock of a worker: the machine's clock, or a simulated one."""

    def now(self) -> float:
        """Return the time in seconds. All workers of a machine share its zero."""
        ...

    def finish_iteration(self, iteration: int) -> None:
        """Account for the time of an iteration that was computed since the last call."""
        ...

    def catch_up(self) -> None:
        """Account for the time until all pending computation is complete."""
        ...


class RealClock:
    """The clock of the machine.

    A GPU computes asynchronously. To measure its work, the program stays at most one iteration ahead of the GPU, which
    keeps the GPU busy.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self._device = torch.device(device)
        self._end: torch.cuda.Event | None = None  # the end of the last iteration

    def now(self) -> float:
        """Return the time in seconds. All processes of a machine share its zero."""
        return time.time()

    def finish_iteration(self, iteration: int) -> None:
        """Wait for the previous iteration, if it is still being computed."""
        if self._device.type != "cuda":
            return
        before, self._end = self._end, torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._end.record(torch.cuda.current_stream(self._device))
        if before is not None:
            before.synchronize()

    def catch_up(self) -> None:
        """Wait until all pending computation is complete."""
        if self._device.type == "cuda":
            torch.cuda.current_stream(self._device).synchronize()


class Worker:
    """A solver with a communicator, a clock and the record of the current round. Strategies work with it.

    `weights` is the flat buffer of all blobs. Its first `learned` values are learned. The others, such as BatchNorm's
    sums, are statistics.

    A round ends at the latest where a test or a snapshot is due by the `intervals`, which are the same for all workers.
    The worker then stops training, and the strategy exchanges.
    """

    def __init__(
        self,
        solver: Solver,
        communicator: Communicator,
        clock: Clock | None = None,
        pulse: Pulse | None = None,
        intervals: Intervals | None = None,
    ) -> None:
        self.intervals = intervals or Intervals()
        self.solver, self.communicator, self._pulse = solver, communicator, pulse or Pulse()
        self.weights, self.learned = solver.weights.buffer, solver.weights.learned_size
        self.clock = clock or RealClock(self.weights.device)
        self.rank, self.size = communicator.rank, communicator.size
        self._mean: Tensor | None = None
        self._began = 0  # number of iterations when the round began
        self._exchange_seconds = 0.0  # the total so far
        self.last_record: RoundRecord | None = None  # the previous round's record
        self.record = self._new_record(0)

    @property
    def remaining(self) -> int:
        """The number of remaining iterations."""
        return max(0, self.solver.param.max_iter - self.solver.iteration)

    @property
    def round_end(self) -> int:
        """The iteration in which the round ends at the latest: when something is due next, or when training ends."""
        due, last = self.intervals.next_due(self._began), self.solver.param.max_iter
        return last if due is None else min(due, last)

    def is_due(self, interval: Fraction) -> bool:
        """Return whether an interval ended in this round."""
        return is_due(interval, self._began, self.solver.iteration)

    def train(self, steps: int) -> int:
        """Train for `steps` iterations, or to the end of the round. Returns the number of iterations."""
        count = max(0, min(steps, self.round_end - self.solver.iteration))
        for _ in range(count):
            self.iterate()
        return count

    def train_for(self, seconds: float) -> int:
        """Train for some seconds, but at least one iteration, or to the end of the round. Returns the number of
        iterations."""
        end, count, last = self.clock.now() + seconds, 0, self.round_end
        while self.solver.iteration < last and (not count or self.clock.now() < end):
            self.iterate()
            count += 1
        return count

    def iterate(self) -> None:
        """Train for one iteration."""
        start, before = self.clock.now(), self._exchange_seconds
        self.solver.iterate()
        self.clock.finish_iteration(self.solver.iteration)
        self._pulse.beat()
        self.record.steps += 1
        self.record.compute -= self._exchange_seconds - before  # excludes exchanges within an iteration
        self._note_activity(Activity.COMPUTE, start)

    def finish(self, handle: Handle) -> None:
        """Wait until an exchange is complete."""
        start, before = self.clock.now(), self.communicator.traffic.waited
        handle.wait()
        stop = self.clock.now()
        arrival = min(start + self.communicator.traffic.waited - before, stop)  # the time when the last worker joined
        self._exchange_seconds += stop - start
        self._add_span(Span(Activity.WAIT, start, arrival))
        self._add_span(Span(Activity.EXCHANGE, arrival, stop))

    @contextmanager
    def activity(self, activity: Activity, shard: int | None = None) -> Iterator[None]:
        """Record the time inside the context as that of an activity."""
        start = self.clock.now()
        yield
        self._note_activity(activity, start, shard)

    def mean_weights(self, weight: float = 1.0) -> Tensor:
        """Return the mean of all workers' blobs, in a buffer that is valid until the next call.

        Records the distance of the worker's own weights from the mean.
        """
        mean = self._exchange_mean(weight)
        self.record.divergence = torch.dist(self.weights[: self.learned], mean[: self.learned]).item()
        return mean

    def take_mean(self, weight: float = 1.0) -> None:
        """Replace the worker's blobs with the mean of all workers' blobs, and record the distance between them.

        A CPU measures and copies one piece at a time while the piece is in the cache.
        """
        mean = self._exchange_mean(weight)
        longest = _CACHED if self.weights.device.type == "cpu" else self.weights.numel()
        squares = mean.new_zeros(())
        for start in range(0, self.weights.numel(), longest):
            stop = min(start + longest, self.weights.numel())
            learned = slice(start, max(start, min(stop, self.learned)))
            squares += torch.dist(self.weights[learned], mean[learned]).square()
            self.weights[start:stop].copy_(mean[start:stop])
        self.record.divergence = squares.sqrt().item()

    def _exchange_mean(self, weight: float) -> Tensor:
        if self._mean is None:
            self._mean = torch.empty_like(self.weights)
        with self.activity(Activity.COMPUTE):  # the exchange would otherwise include this wait
            self.clock.catch_up()
        self._mean.copy_(self.weights)
        self.finish(self.communicator.mean(self._mean, weight))
        return self._mean

    def agree_on_iteration(self, iteration: int) -> None:
        """Set the number of completed iterations, so that all workers have the same learning rate."""
        self.solver.iteration = iteration

    def begin_round(self) -> None:
        """Begin the record of the next round."""
        self.record = self._new_record(self.record.number + 1)
        self._began = self.solver.iteration

    def end_round(self) -> RoundRecord:
        """Complete the record of the round and return it."""
        record, traffic = self.record, self.communicator.traffic
        record.stop, record.iteration = self.clock.now(), self.solver.iteration
        record.wait, record.exchange = traffic.waited - self._waited, traffic.moved - self._moved
        record.bytes = traffic.bytes - self._bytes
        self.last_record = record
        return record

    def _new_record(self, number: int) -> RoundRecord:
        traffic = self.communicator.traffic
        self._waited, self._moved, self._bytes = traffic.waited, traffic.moved, traffic.bytes
        return RoundRecord(number, self.rank, self.clock.now())

    def _note_activity(self, activity: Activity, start: float, shard: int | None = None) -> None:
        stop = self.clock.now()
        if activity is Activity.COMPUTE:
            self.record.compute += stop - start
        self._add_span(Span(activity, start, stop, shard))

    def _add_span(self, span: Span) -> None:
        """Add a span, or extend the last one if it is of the same activity."""
        spans, start = self.record.spans, span.start
        if spans and (spans[-1].activity, spans[-1].shard) == (span.activity, span.shard):
            start = spans.pop().start
        if span.stop > start:
            spans.append(replace(span, start=start))
