"""MPCA SGD: workers never stop training, while they exchange shards of a joint model that pulls them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import msgspec
import torch
from torch import Tensor

from netdsl.distributed.communicator import Handle
from netdsl.distributed.machines import ExchangeKind
from netdsl.distributed.run_log import Activity, Span
from netdsl.distributed.strategies.strategy import ModelSize, StrategyTraffic, Transfer, Waiting
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError

_CACHED = 1 << 17  # number of values of model, velocity and mean that fit into a core's cache
_ALIGNMENT = 16  # number of values, as for the blobs in the flat buffer
_REDUCE, _BROADCAST = 0, 1  # lanes
_LEAST_WEIGHT = 1e-6  # of a model without new iterations; the weights of all models must not add up to 0


class MPCA(msgspec.Struct, frozen=True, tag="mpca", tag_field="name"):
    """The settings of MPCA, whose first worker is the coordinator. It updates the joint model with the shards' means,
    and broadcasts the model's projection.

    Before every iteration a worker's weights are pulled towards the projection by `alpha`. With `in_gradient` its
    gradients are pulled instead (Eq. 6 instead of Eq. 7). Pulling begins when every shard has been broadcast once. In
    the first `early` iterations of a new training alpha is 0, and exchanges only inform the joint model of what the
    workers learn. Alpha then falls from `high` to `alpha` over the same number of iterations.

    A single shard is alternately reduced and broadcast. With two shards, one is reduced while the other is broadcast.
    With three or more, another one is prepared at the same time. `beta`, `gamma`, `delta` and `ramp` are as in
    `Motion`. A round is `tau` iterations, and exchanges don't wait for its end.

    BatchNorm's sums are averaged in the joint model, but neither projected nor pulled. Each worker keeps its own sums
    until all take the joint model at the end. The solvers' histories aren't exchanged. Before the end only the first
    worker has the joint model, and all workers resume from it. Exchanges use lanes 0 and 1 at any time.
    """

    name: ClassVar[str] = "mpca"
    synchronous: ClassVar[bool] = False
    divides_batch: ClassVar[bool] = False

    shards: int = 3
    alpha: float = 0.05
    beta: float = 0.9
    gamma: float = 0.7
    delta: float = 0.8
    ramp: int = 20
    early: int = 20
    high: float = 0.5
    in_gradient: bool = False
    tau: int = 50

    def __post_init__(self) -> None:
        if self.shards < 1 or self.tau < 1:
            raise DistributedError("shards or tau is too small; give 1 or more of each")
        if self.ramp < 0 or self.early < 0 or self.gamma < 0:
            raise DistributedError("ramp, early or gamma is negative; set each to 0 or more")
        if not (0 <= self.alpha <= 1 and 0 <= self.delta < 1):
            raise DistributedError(
                "alpha or delta is out of range; give an alpha from 0 to 1, and a delta of at least 0 and below 1"
            )
        if not (0 < self.beta <= 1 and 0 < self.high <= 1):
            raise DistributedError("beta or high is out of range; give values above 0 and at most 1")

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        """Return the traffic: shards are exchanged during training. At the end the workers complete their exchanges and
        average."""
        copy, mean = Transfer(ExchangeKind.BROADCAST, model.bytes), Transfer(ExchangeKind.MEAN, model.bytes)
        shard = model.bytes // self.shards
        reduction, broadcast = Transfer(ExchangeKind.REDUCE, shard), Transfer(ExchangeKind.BROADCAST, shard)
        last = [reduction] * (2 + shard_lag(self.shards))
        return StrategyTraffic(
            self.tau, [copy], hidden=[reduction, broadcast], finish=[*last, mean, copy], waiting=Waiting.NOBODY
        )

    def begin(self, worker: Worker) -> _MPCA:
        """Begin a worker's part of the run."""
        return _MPCA(self, worker)


class _MPCA:
    def __init__(self, settings: MPCA, worker: Worker) -> None:
        self._settings, self._worker = settings, worker
        self._trained = 0  # iterations until now
        self._pulled = 0  # iterations in which the worker was pulled towards the joint model
        self._early = settings.early
        worker.finish(worker.communicator.broadcast(worker.weights))
        self._joint = self._new_joint_model() if worker.rank == 0 else None
        self._phases = Phases(worker, settings.shards, self._joint)
        worker.solver.on_start.append(self._before_iteration)
        worker.solver.on_gradients_ready.append(self._pull_gradients)

    def round(self) -> None:
        worker = self._worker
        worker.train(self._settings.tau)
        if self._phases.complete:
            worker.record.divergence = torch.dist(self._learned_weights, self._phases.projected).item()

    def model(self) -> Tensor:
        return self._worker.weights if self._joint is None else self._joint.model

    def state(self) -> Mapping[str, Tensor]:
        joint = self._joint
        return {} if joint is None else {"velocity": joint.velocity, "cycles": joint.cycles}

    def finish(self) -> None:
        """Exchange until no worker is training, then average all models, weighted by their iterations."""
        worker, joint = self._worker, self._joint
        worker.solver.on_start.remove(self._before_iteration)
        worker.solver.on_gradients_ready.remove(self._pull_gradients)
        while not self._phases.finished:
            self._phases.wait()
            self._phases.poll(self._trained, training=False)
        mean = worker.mean_weights(mean_weight(self._trained))
        if joint is not None:
            for shard, place in enumerate(self._phases.shards):
                joint.update(shard, mean[place])
            worker.weights.copy_(joint.model)
        worker.finish(worker.communicator.broadcast(worker.weights))

    def _new_joint_model(self) -> JointModel:
        settings, worker = self._settings, self._worker
        motion = Motion(settings.beta, settings.gamma, settings.delta, settings.ramp)
        return JointModel(
            motion, worker.weights, worker.learned, cut_into_shards(worker.weights.numel(), settings.shards)
        )

    @property
    def _learned_weights(self) -> Tensor:
        """The learned values of the worker's blobs."""
        return self._worker.weights[: self._worker.learned]

    def _before_iteration(self) -> None:
        """Exchange before an iteration, and pull the weights towards the joint model (Eq. 7)."""
        if self._trained == 0 and self._worker.solver.iteration > 0:
            self._early = 0  # the training was resumed
        if self._trained:  # earlier, the worker has learned nothing to share
            self._phases.poll(self._trained, training=True)
        self._trained += 1
        if self._pulls:
            self._pulled += 1
            if not self._settings.in_gradient:
                self._learned_weights.lerp_(self._phases.projected, self._alpha())

    def _pull_gradients(self) -> None:
        """Pull the gradients before the update, as if the distance from the joint model were a loss (Eq. 6)."""
        if not (self._settings.in_gradient and self._pulls):
            return
        solver = self._worker.solver
        alpha = self._alpha() * solver.param.iter_size  # the solver divides by iter_size
        pull = self._learned_weights - self._phases.projected
        if solver.net.loss_scale is not None:
            pull *= solver.net.loss_scale.value  # the gradients are scaled too
        solver.updater.gradients.buffer.add_(pull, alpha=alpha)

    @property
    def _pulls(self) -> bool:
        """Whether the worker is pulled towards the joint model in this iteration."""
        return self._phases.complete and self._trained > self._early

    def _alpha(self) -> float:
        """Return the current alpha, which falls from `high` by a constant factor in each iteration."""
        settings = self._settings
        progress = min(1.0, self._pulled / self._early) if self._early else 1.0
        return float(settings.high * (settings.alpha / settings.high) ** progress)


class Phases:
    """The exchanges of one worker, in steps. A step begins when all exchanges of the previous one are complete.

    All workers therefore begin the same exchanges in the same order, each of them when it polls. Buffers end with one
    additional value. In a reduction it is whether the worker is still training. In a broadcast it is whether no worker
    is training, which makes this the last step.
    """

    def __init__(self, worker: Worker, shards: int, joint: JointModel | None) -> None:
        self._worker, self._joint = worker, joint  # only the first worker has the joint model
        self.shards, self._lag = cut_into_shards(worker.weights.numel(), shards), shard_lag(shards)
        self.projected = torch.empty_like(worker.weights[: worker.learned])  # the joint model as received
        self.finished = False
        self._last_step_flag: _Arrival | None = None  # from the last broadcast: whether no worker is training
        self._received: set[int] = set()
        self._trained = 0  # iterations until now
        self._reduced_at = [0] * shards  # the worker's iterations when each shard was last reduced
        self._number, self._step = -1, ShardStep(None, None)
        self._pending: list[_Exchange] = []
        self._none_training = worker.weights.new_zeros(())  # 1 if so; stays on the GPU, since reading it would wait
        # Each is a pair of buffers. While one is exchanged, the other is prepared or read.
        longest = 1 + max(place.stop - place.start for place in self.shards)
        self._reduced = [worker.weights.new_zeros(longest) for _ in range(2)]
        self._broadcast = [worker.weights.new_zeros(longest) for _ in range(2)]

    @property
    def complete(self) -> bool:
        """Whether every shard has been received at least once."""
        return len(self._received) == len(self.shards)

    def poll(self, trained: int, *, training: bool) -> None:
        """Receive shards that have arrived, and begin the next step if this one is complete. Never waits.

        `trained` is the number of iterations that the worker has done.
        """
        self._trained = trained
        for exchange in [exchange for exchange in self._pending if exchange.handle.done()]:
            self._pending.remove(exchange)
            self._note_span(exchange.activity, exchange.start, exchange.shard)
            if exchange.activity is Activity.BROADCAST:
                self._receive_shard(exchange.shard)
        if self._last_step_flag is not None and self._last_step_flag.is_there():
            self._read_last_step_flag()
        if not (self._pending or self._last_step_flag or self.finished):
            self._next_step(training)

    def wait(self) -> None:
        """Wait until all exchanges of this step are complete, and until the worker knows whether it is the last
        step."""
        for exchange in self._pending:
            self._worker.finish(exchange.handle)
        self._read_last_step_flag()

    def _read_last_step_flag(self) -> None:
        if self._last_step_flag is not None:
            self.finished, self._last_step_flag = bool(self._last_step_flag.wait()), None

    def _receive_shard(self, shard: int) -> None:
        place, buffer = self.shards[shard], self._buffer_of(self._broadcast, self._number, shard)
        target = self.projected[place]
        target.copy_(buffer[: len(target)])
        self._received.add(shard)
        self._last_step_flag = _Arrival(buffer[-1])

    def _next_step(self, training: bool) -> None:
        """Begin the next step. With three or more shards, prepare the last one afterwards, so that no worker waits for
        it."""
        number, shard = self._number, self._step.reduced
        if shard is not None and self._lag == 1:
            self._prepare_shard(number, shard)
        self._begin_exchanges(training)
        if shard is not None and self._lag == 2:
            self._prepare_shard(number, shard)

    def _begin_exchanges(self, training: bool) -> None:
        self._number += 1
        self._step = shard_step(self._number, len(self.shards))
        if self._step.reduced is not None:
            self._begin_reduction(self._step.reduced, training)
        if self._step.broadcast is not None:
            buffer = self._buffer_of(self._broadcast, self._number, self._step.broadcast)
            buffer[-1] = self._none_training
            handle = self._worker.communicator.broadcast(buffer, lane=_BROADCAST)
            self._note_pending(Activity.BROADCAST, self._step.broadcast, handle)

    def _begin_reduction(self, shard: int, training: bool) -> None:
        worker, buffer = self._worker, self._buffer_of(self._reduced, self._number, shard)
        buffer[:-1].copy_(worker.weights[self.shards[shard]])
        buffer[-1] = training
        weight = mean_weight(self._trained - self._reduced_at[shard])
        self._reduced_at[shard] = self._trained
        self._note_pending(Activity.REDUCE, shard, worker.communicator.reduce(buffer, weight, lane=_REDUCE))

    def _prepare_shard(self, number: int, shard: int) -> None:
        """Update the joint model with a reduced shard, and fill the buffer that will be broadcast."""
        if self._joint is None:
            return
        start, mean = self._worker.clock.now(), self._buffer_of(self._reduced, number, shard)
        self._none_training = mean[-1] == 0
        self._joint.update(shard, mean[:-1])
        self._joint.project(shard, self._buffer_of(self._broadcast, number + self._lag, shard)[:-1])
        self._note_span(Activity.PREPARE, start, shard)

    def _buffer_of(self, buffers: list[Tensor], number: int, shard: int) -> Tensor:
        """Return the part of a step's buffer that a shard needs."""
        place = self.shards[shard]
        return buffers[number % 2][: place.stop - place.start + 1]

    def _note_pending(self, activity: Activity, shard: int, handle: Handle) -> None:
        self._pending.append(_Exchange(activity, shard, handle, self._worker.clock.now()))

    def _note_span(self, activity: Activity, start: float, shard: int) -> None:
        self._worker.record.spans.append(Span(activity, start, self._worker.clock.now(), shard))


@dataclass(frozen=True)
class _Exchange:
    """A reduction or broadcast of a shard in progress."""

    activity: Activity
    shard: int
    handle: Handle
    start: float


class _Arrival:
    """A number on its way from a device to main memory. Whether it has arrived can be checked without waiting."""

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
        """Wait for the number and return it."""
        if self._event is not None:
            self._event.synchronize()
        return self._value.item()


class JointModel:
    """The joint model with its velocity, shard by shard.

    Values that aren't learned, such as BatchNorm's sums, are blended but have no velocity. A sum over batches can't be
    projected to future batches.
    """

    def __init__(self, motion: Motion, weights: Tensor, learned: int, shards: Sequence[slice]) -> None:
        self.motion, self.learned, self.shards = motion, learned, shards
        self.model = weights.clone()
        self.velocity = torch.zeros_like(weights[:learned])
        self.cycles = torch.zeros(len(shards), dtype=torch.int64)  # number of updates of each shard

    def update(self, shard: int, mean: Tensor) -> None:
        """Blend a shard with the workers' mean (Eq. 8), and update its velocity (Eq. 4)."""
        model, velocity = self.model[self.shards[shard]], self.velocity[self.shards[shard]]
        beta = self.motion.beta_after(int(self.cycles[shard]))
        longest = _CACHED if mean.is_cpu else max(1, len(mean))
        for start in range(0, len(mean), longest):
            part = slice(start, start + longest)
            part_velocity, part_model, part_mean = velocity[part], model[part], mean[part]
            learned = len(part_velocity)
            change = torch.sub(part_mean[:learned], part_model[:learned]).mul_(beta)
            part_velocity.lerp_(change, 1 - self.motion.delta)
            part_model.lerp_(part_mean, beta)
        self.cycles[shard] += 1

    def project(self, shard: int, projected: Tensor) -> None:
        """Fill a buffer with the expected values of a shard `gamma` cycles from now (Eq. 5)."""
        model, velocity = self.model[self.shards[shard]], self.velocity[self.shards[shard]]
        learned, gamma = len(velocity), self.motion.gamma_after(int(self.cycles[shard]))
        torch.add(model[:learned], velocity, alpha=gamma, out=projected[:learned])
        projected[learned:].copy_(model[learned:])


@dataclass(frozen=True)
class Motion:
    """The rates at which the joint model moves: Eqs. 4, 5 and 8 of the MPCA paper.

    `beta` is the share of the workers' mean in the next model. `delta` is the share of the old velocity in the next
    one. `gamma` is the number of cycles by which the model is projected ahead. In the first `ramp` cycles beta falls
    from 1 by a constant factor, since a new model has learned nothing yet. Gamma rises from 0 meanwhile, since the
    first changes are noise.
    """

    beta: float
    gamma: float
    delta: float
    ramp: int

    def beta_after(self, cycles: int) -> float:
        """Return the beta of the update that follows `cycles` updates."""
        return float(self.beta ** self._ramped(cycles))

    def gamma_after(self, cycles: int) -> float:
        """Return gamma after `cycles` updates."""
        return self.gamma * self._ramped(cycles)

    def _ramped(self, cycles: int) -> float:
        return min(1.0, cycles / self.ramp) if self.ramp else 1.0


@dataclass(frozen=True)
class ShardStep:
    """The shards that are exchanged in one step."""

    reduced: int | None
    broadcast: int | None


def cut_into_shards(size: int, count: int) -> list[slice]:
    """Return the slices that cut a flat buffer into `count` parts of nearly equal length, regardless of layers."""
    places = [min(size, round(size * index / count / _ALIGNMENT) * _ALIGNMENT) for index in range(count)] + [size]
    return [slice(start, stop) for start, stop in pairwise(places)]


def shard_lag(count: int) -> int:
    """Return the number of steps from a shard's reduction to its broadcast. With three or more, one step prepares the
    shard."""
    return 1 if count < 3 else 2


def shard_step(number: int, count: int) -> ShardStep:
    """Return the exchanges of a step. A single shard is alternately reduced and broadcast. Several do both in the same
    step."""
    if count == 1:
        return ShardStep(0, None) if number % 2 == 0 else ShardStep(None, 0)
    ago = number - shard_lag(count)
    return ShardStep(number % count, ago % count if ago >= 0 else None)


def mean_weight(iterations: int) -> float:
    """Return the weight of a model in a mean (Eq. 9), which is its iterations since the last mean."""
    return max(_LEAST_WEIGHT, float(iterations))
