"""DiLoCo's outer momentum. The mean change of the workers' weights is the gradient of an outer Nesterov step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec
import torch
from torch import Tensor

from netdsl.distributed.machines import ExchangeKind
from netdsl.distributed.strategies.strategy import ModelSize, Pace, StrategyTraffic, Tau, Transfer, check_tau
from netdsl.distributed.worker import Worker


class OuterMomentum(msgspec.Struct, frozen=True, tag="outer", tag_field="name"):
    """The settings of DiLoCo. Its outer step moves the learned blobs, and BatchNorm's sums are averaged.

    The solvers' histories aren't exchanged. A worker's learning rate follows its own iterations. `lr` and `momentum`
    belong to the outer step. With an `lr` of 1 and a `momentum` of 0 this is model averaging.
    """

    name: ClassVar[str] = "outer"
    synchronous: ClassVar[bool] = True
    divides_batch: ClassVar[bool] = False

    tau: Tau = 50
    lr: float = 0.7
    momentum: float = 0.9

    def __post_init__(self) -> None:
        check_tau(self.tau)

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        """Return the traffic: each round averages all blobs."""
        copy, mean = Transfer(ExchangeKind.BROADCAST, model.bytes), Transfer(ExchangeKind.MEAN, model.bytes)
        return StrategyTraffic(self.tau, [copy], round=[mean])

    def begin(self, worker: Worker) -> _Outer:
        """Begin a worker's part of the run."""
        return _Outer(self, worker)


class _Outer:
    def __init__(self, settings: OuterMomentum, worker: Worker) -> None:
        self._settings, self._worker, self._pace = settings, worker, Pace(settings.tau)
        worker.finish(worker.communicator.broadcast(worker.weights))
        self._before = worker.weights[: worker.learned].clone()
        self._velocity = torch.zeros_like(self._before)

    def round(self) -> None:
        worker, lr, momentum = self._worker, self._settings.lr, self._settings.momentum
        self._before.copy_(worker.weights[: worker.learned])
        worker.train(self._pace.tau(worker))
        mean = worker.mean_weights()
        gradient = self._before - mean[: worker.learned]
        self._velocity.mul_(momentum).add_(gradient)
        worker.weights.copy_(mean)
        step = gradient.add_(self._velocity, alpha=momentum)
        torch.sub(self._before, step, alpha=lr, out=worker.weights[: worker.learned])

    def model(self) -> Tensor:
        return self._worker.weights

    def state(self) -> Mapping[str, Tensor]:
        return {"velocity": self._velocity}

    def finish(self) -> None:
        pass
