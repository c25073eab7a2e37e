"""The exchanges of MPCA beside training: one shard is reduced while another is broadcast, and no worker waits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from netdsl.distributed.communicator import Handle
from netdsl.distributed.record import Activity, Span
from netdsl.distributed.strategies.joint_model import JointModel
from netdsl.distributed.strategies.shards import ShardStep, cut, lag, step_of
from netdsl.distributed.worker import Worker

_REDUCE, _BROADCAST = 0, 1  # lanes
_LEAST_WEIGHT = 1e-6  # of a model without new iterations: if all are so, their weights mustn't add up to 0


def mean_weight(iterations: int) -> float:
    """The weight of a model in a mean (Eq. 9): its iterations since the last mean."""
    return max(_LEAST_WEIGHT, float(iterations))


@dataclass(frozen=True)
class _Exchange:
    """A reduction or broadcast of a shard that isn't complete."""

    activity: Activity
    shard: int
    handle: Handle
    start: float


class _Arrival:
    """A number on its way from a device to the program, which can ask whether it is there without waiting."""

    def __init__(self, number: Tensor) -> None:
        self._event: torch.cuda.Event | None = None
        if not number.is_cuda:
            self._value = number.clone()
            return
        self._value = torch.empty((), dtype=number.dtype, pin_memory=True)
        self._value.copy_(number, non_blocking=True)
        self._event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._event.record(torch.cuda.current_stream(number.device))

    def is_there(self) -> bool:
        return self._event is None or bool(self._event.query())  # type: ignore[no-untyped-call]

    def wait(self) -> float:
        """Wait for the number."""
        if self._event is not None:
            self._event.synchronize()
        return self._value.item()


class Phases:
    """The exchanges of one worker, in steps: a step begins when all exchanges of the one before are complete.

    So all workers begin the same exchanges in the same order, each of them when it polls. Buffers end with one
    additional value: in a reduction whether the worker still trains, in a broadcast whether no worker does, which makes
    it the last step.
    """

    def __init__(self, worker: Worker, shards: int, joint: JointModel | None) -> None:
        self._worker, self._joint = worker, joint  # only the first worker has the joint model
        self.shards, self._lag = cut(worker.weights.numel(), shards), lag(shards)
        self.projected = torch.empty_like(worker.weights[: worker.learned])  # the joint model as it was received
        self.finished = False
        self._told: _Arrival | None = None  # by the last broadcast: whether nobody trains any more
        self._received: set[int] = set()
        self._trained = 0  # iterations until now
        self._reduced_at = [0] * shards  # iterations when each shard was last reduced
        self._number, self._step = -1, ShardStep(None, None)
        self._pending: list[_Exchange] = []
        self._nobody_trains = worker.weights.new_zeros(())  # 1 if so; it isn't read here, which would make a GPU wait
        # Two buffers each: while one is exchanged, the other is prepared or read.
        longest = 1 + max(place.stop - place.start for place in self.shards)
        self._reduced = [worker.weights.new_zeros(longest) for _ in range(2)]
        self._broadcast = [worker.weights.new_zeros(longest) for _ in range(2)]

    @property
    def complete(self) -> bool:
        """Whether every shard was received once."""
        return len(self._received) == len(self.shards)

    def poll(self, trained: int, *, training: bool) -> None:
        """Receive shards that have arrived, and begin the next step if this one is complete; never waits.

        `trained` is the number of iterations that the worker has done.
        """
        self._trained = trained
        for exchange in [exchange for exchange in self._pending if exchange.handle.done()]:
            self._pending.remove(exchange)
            self._note(exchange.activity, exchange.start, exchange.shard)
            if exchange.activity is Activity.BROADCAST:
                self._receive(exchange.shard)
        if self._told is not None and self._told.is_there():
            self._take_told()
        if not (self._pending or self._told or self.finished):
            self._next_step(training)

    def wait(self) -> None:
        """Wait until all exchanges of this step are complete, and until it is known whether it is the last one."""
        for exchange in self._pending:
            self._worker.finish(exchange.handle)
        self._take_told()

    def _take_told(self) -> None:
        if self._told is not None:
            self.finished, self._told = bool(self._told.wait()), None

    def _receive(self, shard: int) -> None:
        place, buffer = self.shards[shard], self._buffer(self._broadcast, self._number, shard)
        target = self.projected[place]
        target.copy_(buffer[: len(target)])
        self._received.add(shard)
        self._told = _Arrival(buffer[-1])

    def _next_step(self, training: bool) -> None:
        """Begin the next step; with three phases before the last shard is prepared, so that no worker waits for it."""
        number, shard = self._number, self._step.reduced
        if shard is not None and self._lag == 1:
            self._prepare(number, shard)
        self._post(training)
        if shard is not None and self._lag == 2:
            self._prepare(number, shard)

    def _post(self, training: bool) -> None:
        self._number += 1
        self._step = step_of(self._number, len(self.shards))
        if self._step.reduced is not None:
            self._reduce(self._step.reduced, training)
        if self._step.broadcast is not None:
            buffer = self._buffer(self._broadcast, self._number, self._step.broadcast)
            buffer[-1] = self._nobody_trains
            handle = self._worker.communicator.broadcast(buffer, lane=_BROADCAST)
            self._track(Activity.BROADCAST, self._step.broadcast, handle)

    def _reduce(self, shard: int, training: bool) -> None:
        worker, buffer = self._worker, self._buffer(self._reduced, self._number, shard)
        buffer[:-1].copy_(worker.weights[self.shards[shard]])
        buffer[-1] = training
        weight = mean_weight(self._trained - self._reduced_at[shard])
        self._reduced_at[shard] = self._trained
        self._track(Activity.REDUCE, shard, worker.communicator.reduce(buffer, weight, lane=_REDUCE))

    def _prepare(self, number: int, shard: int) -> None:
        """Update the joint model with a reduced shard, and fill the buffer that will be broadcast."""
        if self._joint is None:
            return
        start, mean = self._worker.clock.now(), self._buffer(self._reduced, number, shard)
        self._nobody_trains = mean[-1] == 0
        self._joint.update(shard, mean[:-1])
        self._joint.project(shard, self._buffer(self._broadcast, number + self._lag, shard)[:-1])
        self._note(Activity.PREPARE, start, shard)

    def _buffer(self, buffers: list[Tensor], number: int, shard: int) -> Tensor:
        """The part of a step's buffer that a shard needs."""
        place = self.shards[shard]
        return buffers[number % 2][: place.stop - place.start + 1]

    def _track(self, activity: Activity, shard: int, handle: Handle) -> None:
        self._pending.append(_Exchange(activity, shard, handle, self._worker.clock.now()))

    def _note(self, activity: Activity, start: float, shard: int) -> None:
        self._worker.record.spans.append(Span(activity, start, self._worker.clock.now(), shard))
