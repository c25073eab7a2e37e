"""SparkNet's model averaging: workers train by themselves for some iterations, then all take over the mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec
from torch import Tensor

from netdsl.distributed.strategies.pace import Pace, Tau, check_tau
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError


class ModelAveraging(msgspec.Struct, frozen=True, tag="averaging", tag_field="name"):
    """All blobs are averaged, also BatchNorm's sums, in which every worker's batches count from then on.

    What solvers remember, such as momentum, stays each worker's own. A round is `tau` iterations, or as many as a
    worker can do in so many `seconds`; then models count by their iterations if `weighted`, and all go on with the
    mean number of iterations, which is what the learning rate follows. Before the first round one worker alone does
    `warmup` iterations.
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
            raise DistributedError("seconds and warmup can't be negative")

    def begin(self, worker: Worker) -> _Averaging:
        """Take part."""
        return _Averaging(self, worker)


class _Averaging:
    def __init__(self, settings: ModelAveraging, worker: Worker) -> None:
        self._settings, self._worker = settings, worker
        self._pace = Pace(settings.tau)
        worker.finish(worker.communicator.broadcast(worker.weights))

    def round(self) -> None:
        worker, settings = self._worker, self._settings
        if worker.solver.iteration < settings.warmup:
            self._warm_up()
        elif settings.seconds:
            self._timed()
        else:
            worker.train(self._pace.tau(worker))
            worker.take_mean()

    def _warm_up(self) -> None:
        worker, settings = self._worker, self._settings
        if worker.rank == 0:
            worker.train(settings.warmup - worker.solver.iteration)
        worker.finish(worker.communicator.broadcast(worker.weights))
        worker.agree_on_iteration(min(settings.warmup, worker.solver.param.max_iter))

    def _timed(self) -> None:
        worker = self._worker
        steps = worker.train_for(self._settings.seconds)
        worker.take_mean(steps if self._settings.weighted else 1)
        reached = [iteration for (iteration,) in worker.communicator.gather([worker.solver.iteration])]
        worker.agree_on_iteration(round(sum(reached) / len(reached)))

    def model(self) -> Tensor:
        return self._worker.weights

    def state(self) -> Mapping[str, Tensor]:
        return {}

    def finish(self) -> None:
        pass
