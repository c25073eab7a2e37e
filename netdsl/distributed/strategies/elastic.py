"""Elastic averaging (EASGD): workers and a shared variable pull on each other, which leaves workers free to explore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import msgspec
import torch
from torch import Tensor

from netdsl.distributed.communicator import Handle
from netdsl.distributed.machines import ExchangeKind
from netdsl.distributed.run_log import Activity, Span
from netdsl.distributed.strategies.strategy import (
    AUTO,
    ModelSize,
    Pace,
    StrategyTraffic,
    Tau,
    Transfer,
    Waiting,
    check_tau,
)
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError

Rate = float | Literal["auto"]

_BETA = 0.9  # the value in the paper by Zhang et al.


class ElasticAveraging(msgspec.Struct, frozen=True, tag="elastic", tag_field="name"):
    """The settings of asynchronous elastic averaging.

    Every `tau` iterations a worker exchanges its weights with the shared variable, without waiting for other workers.
    Both move towards each other by `alpha` times their difference (Eqs. 2 and 3 of the MPCA paper). The worker pauses
    until it has read the variable. The difference is sent to the variable while the worker continues to train.

    All blobs are exchanged, including BatchNorm's sums. A weighted mean of two sums over batches is again such a sum,
    since BatchNorm's third blob contains the number by which to divide. The solvers' histories aren't exchanged. The
    shared variable is the model, and all workers end with it. By default, `alpha` is `beta` divided by the number of
    workers, and `beta` is 0.9.

    With a Nesterov solver this is EAMSGD. Its steps are v = momentum v - rate g(x + momentum v), x += v. Caffe's
    weights are x + momentum v, the point at which the gradient is taken, and these weights are exchanged.
    """

    name: ClassVar[str] = "elastic"
    synchronous: ClassVar[bool] = False
    divides_batch: ClassVar[bool] = False

    tau: int = 10
    alpha: Rate = AUTO
    beta: Rate = AUTO

    def __post_init__(self) -> None:
        check_tau(self.tau)
        _check_rates(self.alpha, self.beta)
        if self.alpha != AUTO and self.beta != AUTO:
            raise DistributedError(
                "the asynchronous strategy accepts only one of alpha and beta; leave one out, since beta is alpha "
                "times the number of workers"
            )

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        """Return the traffic: a worker reads the variable at the end of each round, and sends its change during the
        next one."""
        once, barrier = Transfer(ExchangeKind.SEND, model.bytes), Transfer(ExchangeKind.BARRIER, 0)
        begin = [Transfer(ExchangeKind.BROADCAST, model.bytes), barrier]
        return StrategyTraffic(
            self.tau, begin, round=[once], hidden=[once], finish=[once, barrier], waiting=Waiting.SERVER
        )

    def begin(self, worker: Worker) -> _Elastic:
        """Begin a worker's part of the run."""
        return _Elastic(self, worker)


class SynchronousElastic(msgspec.Struct, frozen=True, tag="elastic-sync", tag_field="name"):
    """The settings of synchronous elastic averaging.

    Every `tau` iterations each worker moves by `alpha` towards the shared variable, and the shared variable moves by
    `beta` towards the mean of the workers. The asynchronous strategy exchanges the same blobs. Unless both rates are
    set, they follow elastic symmetry: `beta` is `alpha` times the number of workers, and 0.9 if neither is set.
    """

    name: ClassVar[str] = "elastic-sync"
    synchronous: ClassVar[bool] = True
    divides_batch: ClassVar[bool] = False

    tau: Tau = 10
    alpha: Rate = AUTO
    beta: Rate = AUTO

    def __post_init__(self) -> None:
        check_tau(self.tau)
        _check_rates(self.alpha, self.beta)

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        """Return the traffic: each round averages all blobs."""
        copy, mean = Transfer(ExchangeKind.BROADCAST, model.bytes), Transfer(ExchangeKind.MEAN, model.bytes)
        return StrategyTraffic(self.tau, [copy], round=[mean])

    def begin(self, worker: Worker) -> _SynchronousElastic:
        """Begin a worker's part of the run."""
        return _SynchronousElastic(self, worker)


@dataclass(frozen=True)
class _Push:
    """A difference on its way to the shared variable."""

    handle: Handle
    start: float


class _Elastic:
    def __init__(self, settings: ElasticAveraging, worker: Worker) -> None:
        self._tau, self._worker = settings.tau, worker
        self._alpha, _ = rates(settings.alpha, settings.beta, worker.size)
        worker.finish(worker.communicator.broadcast(worker.weights))
        self._variable = worker.communicator.shared_variable(worker.weights)
        self._model = torch.empty_like(worker.weights)
        self._push: _Push | None = None
        worker.solver.on_start.append(self._note_push)

    def round(self) -> None:
        worker = self._worker
        worker.train(self._tau)
        self._end_push()
        with worker.activity(Activity.EXCHANGE):
            handle = self._variable.exchange(worker.weights, self._alpha)
        self._push = _Push(handle, worker.clock.now())

    def model(self) -> Tensor:
        self._variable.read(self._model)
        return self._model

    def state(self) -> Mapping[str, Tensor]:
        return {}

    def finish(self) -> None:
        self._end_push()
        self._worker.communicator.barrier()
        self._variable.read(self._worker.weights)

    def _end_push(self) -> None:
        """Wait until the difference of the last exchange has been added to the variable."""
        if self._push is not None:
            self._worker.finish(self._push.handle)
            self._note_push()

    def _note_push(self) -> None:
        """Record the push to the variable once it is complete."""
        if self._push is not None and self._push.handle.done():
            self._worker.record.spans.append(Span(Activity.PUSH, self._push.start, self._worker.clock.now()))
            self._push = None


class _SynchronousElastic:
    def __init__(self, settings: SynchronousElastic, worker: Worker) -> None:
        self._worker, self._pace = worker, Pace(settings.tau)
        self._alpha, self._beta = rates(settings.alpha, settings.beta, worker.size)
        if self._beta > 1:
            raise DistributedError(
                f"an alpha of {self._alpha:g} with {worker.size} workers makes beta {self._beta:g}, so the "
                "shared variable would overshoot; give a lower alpha, or a beta of at most 1"
            )
        worker.finish(worker.communicator.broadcast(worker.weights))
        self._shared = worker.weights.clone()

    def round(self) -> None:
        worker = self._worker
        worker.train(self._pace.tau(worker))
        mean = worker.mean_weights()
        worker.weights.lerp_(self._shared, self._alpha)
        self._shared.lerp_(mean, self._beta)

    def model(self) -> Tensor:
        return self._shared

    def state(self) -> Mapping[str, Tensor]:
        return {"centre": self._shared}

    def finish(self) -> None:
        self._worker.weights.copy_(self._shared)


def rates(alpha: Rate, beta: Rate, size: int) -> tuple[float, float]:
    """Return alpha and beta. A rate that isn't set follows from the other by elastic symmetry."""
    if alpha == AUTO:
        beta = _BETA if beta == AUTO else beta
        return beta / size, beta
    return alpha, size * alpha if beta == AUTO else beta


def _check_rates(alpha: Rate, beta: Rate) -> None:
    for name, rate in (("alpha", alpha), ("beta", beta)):
        if rate != AUTO and not 0 <= rate <= 1:
            raise DistributedError(f"{name} is {rate}; give a share from 0 to 1, or 'auto'")
