"""Elastic averaging (EASGD): workers and a centre draw each other together, and workers stay free to explore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import msgspec
import torch
from torch import Tensor

from netdsl.distributed.record import Activity
from netdsl.distributed.strategies.pace import AUTO, Pace, Tau, check_tau
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError

Rate = float | Literal["auto"]

_BETA = 0.9  # Zhang's choice


class ElasticAveraging(msgspec.Struct, frozen=True, tag="elastic", tag_field="name"):
    """Every `tau` iterations a worker goes to the centre, at its own pace: both move by `alpha` of their difference.

    All blobs take part, also BatchNorm's sums: what is between two sums over batches is such a sum too, since the
    third of them says what to divide by. What solvers remember stays each worker's own. The centre is the model, which
    all workers take over at the end. `alpha` is `beta` by the number of workers, and `beta` 0.9.

    With a Nesterov solver it is EAMSGD. Caffe keeps weights at the place that momentum leads to, where the gradient
    is taken, so that its steps are those of v = momentum v - rate g(x + momentum v), x += v; and that place is what
    is exchanged.
    """

    name: ClassVar[str] = "elastic"
    synchronous: ClassVar[bool] = False
    divides_batch: ClassVar[bool] = False

    tau: int = 10
    alpha: Rate = AUTO
    beta: Rate = AUTO

    def __post_init__(self) -> None:
        check_tau(self.tau)
        _check(self.alpha, self.beta)
        if self.alpha != AUTO and self.beta != AUTO:
            raise DistributedError("the asynchronous form has either alpha or beta, which is alpha times the workers")

    def begin(self, worker: Worker) -> _Elastic:
        """Take part."""
        return _Elastic(self, worker)


class SynchronousElastic(msgspec.Struct, frozen=True, tag="elastic-sync", tag_field="name"):
    """Every `tau` iterations all meet: each worker moves by `alpha` to the centre, and that by `beta` to their mean.

    What takes part is as in the asynchronous form. Elastic symmetry, which is the rule unless both are given, is
    `beta` = workers times `alpha`, with a `beta` of 0.9 if neither is given.
    """

    name: ClassVar[str] = "elastic-sync"
    synchronous: ClassVar[bool] = True
    divides_batch: ClassVar[bool] = False

    tau: Tau = 10
    alpha: Rate = AUTO
    beta: Rate = AUTO

    def __post_init__(self) -> None:
        check_tau(self.tau)
        _check(self.alpha, self.beta)

    def begin(self, worker: Worker) -> _SynchronousElastic:
        """Take part."""
        return _SynchronousElastic(self, worker)


class _Elastic:
    def __init__(self, settings: ElasticAveraging, worker: Worker) -> None:
        self._tau, self._worker = settings.tau, worker
        self._alpha, _ = rates(settings.alpha, settings.beta, worker.size)
        worker.finish(worker.communicator.broadcast(worker.weights))
        self._variable = worker.communicator.shared_variable(worker.weights)
        self._model = torch.empty_like(worker.weights)

    def round(self) -> None:
        worker = self._worker
        worker.train(self._tau)
        with worker.doing(Activity.EXCHANGE):
            self._variable.exchange(worker.weights, self._alpha)

    def model(self) -> Tensor:
        self._variable.read(self._model)
        return self._model

    def state(self) -> Mapping[str, Tensor]:
        return {}

    def finish(self) -> None:
        self._worker.communicator.barrier()
        self._variable.read(self._worker.weights)


class _SynchronousElastic:
    def __init__(self, settings: SynchronousElastic, worker: Worker) -> None:
        self._worker, self._pace = worker, Pace(settings.tau)
        self._alpha, self._beta = rates(settings.alpha, settings.beta, worker.size)
        if self._beta > 1:
            raise DistributedError(
                f"alpha {self._alpha:g} of {worker.size} workers makes beta {self._beta:g}, by which the centre would "
                "overshoot; give a lower alpha, or a beta of 1 at most"
            )
        worker.finish(worker.communicator.broadcast(worker.weights))
        self._centre = worker.weights.clone()

    def round(self) -> None:
        worker = self._worker
        worker.train(self._pace.tau(worker))
        mean = worker.averaged()
        worker.weights.lerp_(self._centre, self._alpha)
        self._centre.lerp_(mean, self._beta)

    def model(self) -> Tensor:
        return self._centre

    def state(self) -> Mapping[str, Tensor]:
        return {"centre": self._centre}

    def finish(self) -> None:
        self._worker.weights.copy_(self._centre)


def rates(alpha: Rate, beta: Rate, size: int) -> tuple[float, float]:
    """Alpha and beta; one that isn't given follows by elastic symmetry from the other."""
    if alpha == AUTO:
        beta = _BETA if beta == AUTO else beta
        return beta / size, beta
    return alpha, size * alpha if beta == AUTO else beta


def _check(alpha: Rate, beta: Rate) -> None:
    for name, rate in (("alpha", alpha), ("beta", beta)):
        if rate != AUTO and not 0 <= rate <= 1:
            raise DistributedError(f"{name} is {rate}; it is a share, from 0 to 1, or 'auto'")
