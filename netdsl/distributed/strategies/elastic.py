"""Elastic averaging (EASGD): workers and a shared variable pull on each other, and workers stay free to explore."""

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

    Every `tau` iterations a worker exchanges its weights with the shared variable, without waiting for other workers:
    both move towards each other by `alpha` of their difference (Eqs. 2 and 3 of the MPCA paper). The worker stops
    until it has read the variable, and the difference is pushed to that while the worker trains on.

    All blobs are exchanged, also BatchNorm's sums: a weighted mean of two sums over batches is such a sum too, since
    BatchNorm's third blob has the number to divide by. The solvers' histories aren't exchanged. The shared variable is
    the model, with which all workers end. The default of `alpha` is `beta` divided by the number of workers, and that
    of `beta` is 0.9.

    With a Nesterov solver this is EAMSGD. Caffe's weights are already those that momentum leads to, at which the
    gradient is taken: its steps are those of v = momentum v - rate g(x + momentum v), x += v. These weights are the
    ones that are exchanged.
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
            raise DistributedError("the asynchronous form has either alpha or beta, which is alpha times the workers")

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        """Return the variable comes from its server at the end of each round, and what changes it goes there
        meanwhile."""
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

    Every `tau` iterations each worker moves by `alpha` towards the shared variable, and the shared variable by `beta`
    towards the mean of the workers. The same blobs are exchanged as in the asynchronous form. Unless both rates are
    set, they follow elastic symmetry: `beta` = workers times `alpha`, with a `beta` of 0.9 if neither is set.
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
        """Return a mean of everything at the end of each round."""
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
        """Wait until the variable has moved by the last exchange's difference."""
        if self._push is not None:
            self._worker.finish(self._push.handle)
            self._note_push()

    def _note_push(self) -> None:
        """Record the push back to the variable if it is over."""
        if self._push is not None and self._push.handle.done():
            self._worker.record.spans.append(Span(Activity.PUSH, self._push.start, self._worker.clock.now()))
            self._push = None


class _SynchronousElastic:
    def __init__(self, settings: SynchronousElastic, worker: Worker) -> None:
        self._worker, self._pace = worker, Pace(settings.tau)
        self._alpha, self._beta = rates(settings.alpha, settings.beta, worker.size)
        if self._beta > 1:
            raise DistributedError(
                f"alpha {self._alpha:g} of {worker.size} workers makes beta {self._beta:g}, by which the shared "
                "variable would overshoot; give a lower alpha, or a beta of 1 at most"
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
    """Alpha and beta; one that isn't set follows by elastic symmetry from the other."""
    if alpha == AUTO:
        beta = _BETA if beta == AUTO else beta
        return beta / size, beta
    return alpha, size * alpha if beta == AUTO else beta


def _check_rates(alpha: Rate, beta: Rate) -> None:
    for name, rate in (("alpha", alpha), ("beta", beta)):
        if rate != AUTO and not 0 <= rate <= 1:
            raise DistributedError(f"{name} is {rate}; it is a share, from 0 to 1, or 'auto'")
