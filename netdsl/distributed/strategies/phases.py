"""Shards that go round beside training: one is reduced while another is broadcast, and nobody waits for that."""

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
_LITTLE = 1e-6  # counts a model of which nothing is new: if all are so, there must be something to divide by


def share(iterations: int) -> float:
    """What a model counts in a mean (Eq. 9): its iterations since the last one."""
    return max(_LITTLE, float(iterations))


@dataclass(frozen=True)
class _Exchange:
    activity: Activity
    shard: int
    handle: Handle
    start: float


class Phases:
    """The exchanges of one worker, in steps, of which the next begins when all of one are over.

    So all workers ask for the same in the same order, each when it comes to look. Buffers end with one value more: in
    a reduction whether the worker still trains, in a broadcast whether the first one saw that nobody does; then it is
    the last step.
    """

    def __init__(self, worker: Worker, shards: int, joint: JointModel | None) -> None:
        self._worker, self._joint = worker, joint  # the first worker has the joint model
        self.shards, self._lag = cut(worker.weights.numel(), shards), lag(shards)
        self.projected = torch.empty_like(worker.weights[: worker.learned])  # what has come of the joint model
        self.over = False
        self._came: set[int] = set()
        self._trained = 0  # iterations until now
        self._reduced_at = [0] * shards  # as many of them when each shard was reduced
        self._number, self._step = -1, ShardStep(None, None)
        self._under_way: list[_Exchange] = []
        self._nobody_trains = False
        # Two each: while one is under way, the other is prepared or read.
        longest = 1 + max(place.stop - place.start for place in self.shards)
        self._reduced = [worker.weights.new_zeros(longest) for _ in range(2)]
        self._broadcast = [worker.weights.new_zeros(longest) for _ in range(2)]

    @property
    def complete(self) -> bool:
        """Whether all shards have come once."""
        return len(self._came) == len(self.shards)

    def look(self, trained: int, *, training: bool) -> None:
        """Take what has come, and go on to the next step if this one is over; never waits.

        The worker has trained for so many iterations until now.
        """
        self._trained = trained
        for each in [each for each in self._under_way if each.handle.done()]:
            self._under_way.remove(each)
            self._note(each.activity, each.start, each.shard)
            if each.activity is Activity.BROADCAST:
                self._receive(each.shard)
        if not self._under_way and not self.over:
            self._go_on(training)

    def wait(self) -> None:
        """Wait for the others until this step is over."""
        for each in self._under_way:
            self._worker.finish(each.handle)

    def _receive(self, shard: int) -> None:
        place, buffer = self.shards[shard], self._buffer(self._broadcast, self._number, shard)
        target = self.projected[place]
        target.copy_(buffer[: len(target)])
        self._came.add(shard)
        self.over = bool(buffer[-1])

    def _go_on(self, training: bool) -> None:
        """With three phases a shard is prepared when the next step is under way, so that nobody waits for that."""
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
            self._begun(Activity.BROADCAST, self._step.broadcast, handle)

    def _reduce(self, shard: int, training: bool) -> None:
        worker, buffer = self._worker, self._buffer(self._reduced, self._number, shard)
        buffer[:-1].copy_(worker.weights[self.shards[shard]])
        buffer[-1] = training
        weight = share(self._trained - self._reduced_at[shard])
        self._reduced_at[shard] = self._trained
        self._begun(Activity.REDUCE, shard, worker.communicator.reduce(buffer, weight, lane=_REDUCE))

    def _prepare(self, number: int, shard: int) -> None:
        """Make of a reduced shard what will be broadcast."""
        if self._joint is None:
            return
        start, mean = self._worker.clock.now(), self._buffer(self._reduced, number, shard)
        self._nobody_trains = not mean[-1]
        self._joint.update(shard, mean[:-1])
        self._joint.project(shard, self._buffer(self._broadcast, number + self._lag, shard)[:-1])
        self._note(Activity.PREPARE, start, shard)

    def _buffer(self, buffers: list[Tensor], number: int, shard: int) -> Tensor:
        """What belongs to a step."""
        place = self.shards[shard]
        return buffers[number % 2][: place.stop - place.start + 1]

    def _begun(self, activity: Activity, shard: int, handle: Handle) -> None:
        self._under_way.append(_Exchange(activity, shard, handle, self._worker.clock.now()))

    def _note(self, activity: Activity, start: float, shard: int) -> None:
        self._worker.record.spans.append(Span(activity, start, self._worker.clock.now(), shard))
