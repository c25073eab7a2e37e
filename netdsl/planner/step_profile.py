"""What the seconds of an iteration go to on this machine, measured in a short run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from statistics import fmean, median

import torch

from netdsl.distributed.run import Run
from netdsl.distributed.run_log import Activity, RoundRecord
from netdsl.distributed.run_worker import compute_threads
from netdsl.errors import DistributedError
from netdsl.solver.open_solver import open_solver
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import ModuleNet

_WARM_UP = 3  # iterations
_MIN_STEPS, _MAX_STEPS, _SECONDS = 5, 100, 1.0  # limits of the measurement


@dataclass(frozen=True)
class StepProfile:
    """The seconds of an iteration of one worker: of computing, and of what computing can't hide.

    `data` are those in which the net waits for its next batch, `transfer` those in which that is copied to the device,
    and `update` those in which the solver changes the weights.
    """

    compute: float
    data: float
    transfer: float
    update: float

    @property
    def total(self) -> float:
        """The seconds of the whole iteration."""
        return self.compute + self.overhead

    @property
    def overhead(self) -> float:
        """The seconds in which nothing is computed that other machines could share."""
        return self.data + self.transfer + self.update

    @property
    def overhead_ratio(self) -> float:
        """R_O, the ratio of overhead to computing, which Lemma 3.1 begins with."""
        return self.overhead / self.compute


def profile_step(run: Run) -> StepProfile:
    """Train for about a second, and measure what the iterations' seconds go to.

    Parts are medians over iterations, but for waiting for data, which is a mean, since batches that are made ahead
    come in bursts. If the run's workers divide a batch, one worker's part is measured. The device is waited for after
    each part, and the first iterations don't count.
    """
    loading = replace(run.compute.loading, rank=0, size=run.workers, divided=run.strategy.divides_batch)
    compute = replace(run.compute, device=run.device(0), loading=loading)
    threads = run.threads if run.workers > 1 else torch.get_num_threads()
    settled = run.settled()
    opening = open_solver(
        settled.solver, folder=settled.folder, compute=compute, weights=settled.weights, tables=settled.tables
    )
    with opening as solver, compute_threads(threads):
        return _SolverClock(solver, compute.device).profile()


def iteration_seconds(
    iterate: Callable[[], object], now: Callable[[], float] = time.perf_counter, total: float = _SECONDS
) -> list[float]:
    """Return the seconds of each of the iterations of about a second or another total, after some that don't count."""
    for _ in range(_WARM_UP):
        iterate()
    seconds: list[float] = []
    while len(seconds) < _MIN_STEPS or (len(seconds) < _MAX_STEPS and sum(seconds) < total):
        start = now()
        iterate()
        seconds.append(now() - start)
    return seconds


class _SolverClock:
    """The clock of a solver that runs for a while."""

    def __init__(self, solver: Solver, device: torch.device) -> None:
        assert isinstance(solver.net, ModuleNet) and solver.net.feeds is not None
        self._solver, self._feeds, self._device = solver, solver.net.feeds, device
        self._waited: list[float] = []

    def profile(self) -> StepProfile:
        seconds = iteration_seconds(self._iterate_once, self._time_after_all)
        waited = self._waited[_WARM_UP:]
        busy = median(whole - idle for whole, idle in zip(seconds, waited, strict=True))
        transfer, update = self._transfer_seconds(), self._update_seconds()
        return StepProfile(max(0.0, busy - transfer - update), fmean(waited), transfer, update)

    def _iterate_once(self) -> None:
        before = self._feeds.waited
        self._solver.iterate()
        self._waited.append(self._feeds.waited - before)

    def _transfer_seconds(self) -> float:
        """Return the seconds that the device waits until a batch was copied to it; none where it computes in memory."""
        if self._device.type == "cpu":
            return 0.0
        batch = [tensor.cpu().pin_memory() for tensor in self._feeds.next().values()]
        return self._median_seconds(lambda: [tensor.to(self._device, non_blocking=True) for tensor in batch])

    def _update_seconds(self) -> float:
        """Return the seconds of an update by the last gradients, at a rate of 0, which takes as long as any other."""
        return self._median_seconds(lambda: self._solver.updater.apply(0.0, self._solver.iteration))

    def _median_seconds(self, task: Callable[[], object]) -> float:
        """Return the median seconds of a task that runs a few times."""
        return median(iteration_seconds(task, self._time_after_all, total=0.0))

    def _time_after_all(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return time.perf_counter()


def overhead_ratio(records: Iterable[RoundRecord]) -> float:
    """Return the ratio of waiting for others and of exchanges to iterations, in the rounds of a run of several workers.

    What is exchanged beside iterations doesn't count, nor do tests and saving.
    """
    rounds = list(records)
    computing = sum(record.compute for record in rounds)
    if not computing:
        raise DistributedError("these rounds have no iterations, so there is nothing to compare exchanges with")
    trained = sum(record.stop - record.start - _beside_training(record) for record in rounds)
    return (trained - computing) / computing


def _beside_training(record: RoundRecord) -> float:
    return sum(span.stop - span.start for span in record.spans if span.activity in (Activity.TEST, Activity.SAVE))
