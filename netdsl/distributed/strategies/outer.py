"""DiLoCo's outer momentum: what workers moved on the average is a gradient, by which Nesterov's rule makes a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec
import torch
from torch import Tensor

from netdsl.distributed.strategies.pace import Pace, Tau, check_tau
from netdsl.distributed.worker import Worker


class OuterMomentum(msgspec.Struct, frozen=True, tag="outer", tag_field="name"):
    """What learns is moved by the outer step; BatchNorm's sums are averaged.

    What solvers remember stays each worker's own. The learning rate of a worker follows its own iterations, and `lr`
    and `momentum` are of the outer step. With `lr` 1 and `momentum` 0 it is model averaging.
    """

    name: ClassVar[str] = "outer"
    synchronous: ClassVar[bool] = True
    divides_batch: ClassVar[bool] = False

    tau: Tau = 50
    lr: float = 0.7
    momentum: float = 0.9

    def __post_init__(self) -> None:
        check_tau(self.tau)

    def begin(self, worker: Worker) -> _Outer:
        """Take part."""
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
        mean = worker.averaged()
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
