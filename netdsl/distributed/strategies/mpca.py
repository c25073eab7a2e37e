"""MPCA SGD: workers never stop training, while shards of a joint model are exchanged that pull them together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec
import torch
from torch import Tensor

from netdsl.distributed.link import ExchangeKind
from netdsl.distributed.strategies.joint_model import JointModel, Motion
from netdsl.distributed.strategies.phases import Phases, mean_weight
from netdsl.distributed.strategies.shards import cut, lag
from netdsl.distributed.strategies.traffic import ModelSize, StrategyTraffic, Transfer, Waiting
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError


class MPCA(msgspec.Struct, frozen=True, tag="mpca", tag_field="name"):
    """The settings of MPCA, whose first worker is the coordinator: it makes the joint model of the shards' means, and
    broadcasts the model's projection.

    Before every iteration a worker's weights are pulled by `alpha` towards the projection, or its gradients are if
    `in_gradient` (Eq. 6 instead of Eq. 7). That begins when every shard was broadcast once. In the first `early`
    iterations of a new training alpha is 0, while exchanges inform the joint model of what the workers learn by
    themselves; then alpha falls from `high` in as many iterations. A single shard is reduced and broadcast in turn; of
    two shards one is reduced while the other is broadcast; of three the third is prepared meanwhile. `beta`, `gamma`,
    `delta` and `ramp` are as in `Motion`. A round is `tau` iterations, and exchanges don't wait for its end.

    BatchNorm's sums are averaged in the joint model, but neither projected nor pulled: each worker has its own until
    all take the joint model at the end. The solvers' histories aren't exchanged. Before the end only the first worker
    has the joint model, and all workers resume from that. Exchanges use lanes 0 and 1 at any time.
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
            raise DistributedError("shards and tau must be 1 or more")
        if self.ramp < 0 or self.early < 0 or self.gamma < 0:
            raise DistributedError("ramp, early and gamma can't be negative")
        if not (0 <= self.alpha <= 1 and 0 <= self.delta < 1):
            raise DistributedError("alpha must be from 0 to 1, and delta at least 0 and below 1")
        if not (0 < self.beta <= 1 and 0 < self.high <= 1):
            raise DistributedError("beta and high must be above 0 and 1 at most")

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        """Shards go on beside training; after it, those that are under way and in which all hear of its end."""
        copy, mean = Transfer(ExchangeKind.BROADCAST, model.bytes), Transfer(ExchangeKind.MEAN, model.bytes)
        shard = model.bytes // self.shards
        reduction, broadcast = Transfer(ExchangeKind.REDUCE, shard), Transfer(ExchangeKind.BROADCAST, shard)
        last = [reduction] * (2 + lag(self.shards))
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
        self._pulled = 0  # iterations that were pulled towards the joint model
        self._early = settings.early
        worker.finish(worker.communicator.broadcast(worker.weights))
        self._joint = self._new_joint_model() if worker.rank == 0 else None
        self._phases = Phases(worker, settings.shards, self._joint)
        worker.solver.on_start.append(self._start)
        worker.solver.on_gradients_ready.append(self._end)

    def round(self) -> None:
        worker = self._worker
        worker.train(self._settings.tau)
        if self._phases.complete:
            worker.record.divergence = torch.dist(self._weights, self._phases.projected).item()

    def model(self) -> Tensor:
        return self._worker.weights if self._joint is None else self._joint.model

    def state(self) -> Mapping[str, Tensor]:
        joint = self._joint
        return {} if joint is None else {"velocity": joint.velocity, "cycles": joint.cycles}

    def finish(self) -> None:
        """Exchange until no worker trains any more; then average all models, weighted by their iterations."""
        worker, joint = self._worker, self._joint
        worker.solver.on_start.remove(self._start)
        worker.solver.on_gradients_ready.remove(self._end)
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
        return JointModel(motion, worker.weights, worker.learned, cut(worker.weights.numel(), settings.shards))

    @property
    def _weights(self) -> Tensor:
        """The learned values of the worker's blobs."""
        return self._worker.weights[: self._worker.learned]

    def _start(self) -> None:
        """Exchange before an iteration, and pull the weights towards the joint model (Eq. 7)."""
        if self._trained == 0 and self._worker.solver.iteration > 0:
            self._early = 0  # the training was resumed
        if self._trained:  # before that there is nothing to tell others
            self._phases.poll(self._trained, training=True)
        self._trained += 1
        if self._pulls:
            self._pulled += 1
            if not self._settings.in_gradient:
                self._weights.lerp_(self._phases.projected, self._alpha())

    def _end(self) -> None:
        """Pull the gradients before the weights are updated: the distance from the joint model is a loss (Eq. 6)."""
        if not (self._settings.in_gradient and self._pulls):
            return
        solver = self._worker.solver
        alpha = self._alpha() * solver.param.iter_size  # by which the solver divides
        pull = self._weights - self._phases.projected
        if solver.net.loss_scale is not None:
            pull *= solver.net.loss_scale.value  # as the gradients are
        solver.updater.gradients.buffer.add_(pull, alpha=alpha)

    @property
    def _pulls(self) -> bool:
        """Whether the worker is pulled towards the joint model in this iteration."""
        return self._phases.complete and self._trained > self._early

    def _alpha(self) -> float:
        """The current alpha, which falls from `high` by a constant factor."""
        settings = self._settings
        progress = min(1.0, self._pulled / self._early) if self._early else 1.0
        return float(settings.high * (settings.alpha / settings.high) ** progress)
