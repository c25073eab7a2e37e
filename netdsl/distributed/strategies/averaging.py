"""SparkNet's model averaging: each worker trains alone for some iterations, then all continue with the mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec
import torch
from torch import Tensor

from netdsl.distributed.machines import ExchangeKind
from netdsl.distributed.strategies.strategy import ModelSize, Pace, StrategyTraffic, Tau, Transfer, check_tau
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError


class ModelAveraging(msgspec.Struct, frozen=True, tag="averaging", tag_field="name"):
    """The settings of model averaging, which averages all blobs at the end of each round.

    BatchNorm's sums are averaged too, and contain every worker's batches afterwards. The solvers' histories, such as
    momentum, aren't exchanged. Before the first round the first worker alone does `warmup` iterations.

    A round is `tau` iterations, or as many as a worker can do in `seconds`. In timed rounds with `weighted`, a model's
    weight is its number of iterations. All workers then continue at the mean iteration, which determines the learning
    rate. The mean is rounded, and the next round corrects the rounding error.
    """

    name: ClassVar[str] = "averaging"
    synchronous: ClassVar[bool] = True
    divides_batch: ClassVar[bool] = False

    tau: Tau = 50
    seconds: float = 0.0
    warmup: int = 0
    weighted: bool = True

    def __post_init__(self) -> None:
        check_tau(self.tau)
        if self.seconds < 0 or self.warmup < 0:
            raise DistributedError("seconds or warmup is negative; set both to 0 or more")

    def traffic(self, model: ModelSize) -> StrategyTraffic:
        """Return the traffic: each round averages all blobs. Workers with timed rounds also agree on the iteration."""
        copy, mean = Transfer(ExchangeKind.BROADCAST, model.bytes), Transfer(ExchangeKind.MEAN, model.bytes)
        agreement = [Transfer(ExchangeKind.BARRIER, 0)] if self.seconds else []
        begin = [copy, copy] if self.warmup else [copy]
        return StrategyTraffic(self.tau, begin, round=[mean, *agreement], seconds=self.seconds, warmup=self.warmup)

    def begin(self, worker: Worker) -> _Averaging:
        """Begin a worker's part of the run."""
        return _Averaging(self, worker)


class _Averaging:
    def __init__(self, settings: ModelAveraging, worker: Worker) -> None:
        self._settings, self._worker = settings, worker
        self._pace = Pace(settings.tau)
        # Total of iterations that rounding dropped; negative if it added some.
        self._left_over = torch.zeros((), dtype=torch.int64)
        worker.finish(worker.communicator.broadcast(worker.weights))

    def round(self) -> None:
        worker, settings = self._worker, self._settings
        if worker.solver.iteration < settings.warmup:
            self._warm_up()
        elif settings.seconds:
            self._timed_round()
        else:
            worker.train(self._pace.tau(worker))
            worker.take_mean()

    def _warm_up(self) -> None:
        worker, settings = self._worker, self._settings
        if worker.rank == 0:
            worker.train(settings.warmup - worker.solver.iteration)
        worker.finish(worker.communicator.broadcast(worker.weights))
        worker.agree_on_iteration(min(settings.warmup, worker.round_end))

    def _timed_round(self) -> None:
        worker, began = self._worker, self._worker.solver.iteration
        steps = worker.train_for(self._settings.seconds)
        worker.take_mean(steps if self._settings.weighted else 1)
        all_steps = int(self._left_over) + sum(int(count) for (count,) in worker.communicator.gather([steps]))
        done = min((2 * all_steps + worker.size) // (2 * worker.size), worker.round_end - began)  # rounds half up
        self._left_over.fill_(all_steps - done * worker.size)
        worker.agree_on_iteration(began + done)

    def model(self) -> Tensor:
        return self._worker.weights

    def state(self) -> Mapping[str, Tensor]:
        return {"left_over": self._left_over} if self._settings.seconds else {}

    def finish(self) -> None:
        pass
