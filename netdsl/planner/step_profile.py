"""A profile of the seconds of an iteration on this machine, measured in a short run."""

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

_WARM_UP = 3  # number of iterations
_MIN_STEPS, _MAX_STEPS, _SECONDS = 5, 100, 1.0  # of iterations and seconds of the measurement


@dataclass(frozen=True)
class StepProfile:
    """The seconds of an iteration of one worker, split into computing and the rest that computing can't hide.

    `data` is the time in which the net waits for its next batch. `transfer` is the time in which the batch is copied to
    the device. `update` is the time in which the solver changes the weights.
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
        """The seconds that aren't spent on work that other machines could share."""
        return self.data + self.transfer + self.update

    @property
    def overhead_ratio(self) -> float:
        """R_O, the ratio of overhead to computing in Lemma 3.1."""
        return self.overhead / self.compute


def profile_step(run: Run) -> StepProfile:
    """Train for about a second, and measure the parts of an iteration's time.

    The parts are medians over iterations. Only the time spent waiting for data is a mean, since prefetched batches
    arrive in bursts. If the run's workers divide a batch, one worker's part is measured. The program waits for the
    device after each part, and the first iterations don't count.
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
    """Return the seconds of each iteration, measured for about `total` seconds after some warm-up iterations."""
    for _ in range(_WARM_UP):
        iterate()
    seconds: list[float] = []
    while len(seconds) < _MIN_STEPS or (len(seconds) < _MAX_STEPS and sum(seconds) < total):
        start = now()
        iterate()
        seconds.append(now() - start)
    return seconds


class _SolverClock:
    """Measures the parts of a solver's iterations."""

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
        """Return the seconds in which the device waits for the copy of a batch, which is 0 on a CPU."""
        if self._device.type == "cpu":
            return 0.0
        batch = [tensor.cpu().pin_memory() for tensor in self._feeds.next().values()]
        return self._median_seconds(lambda: [tensor.to(self._device, non_blocking=True) for tensor in batch])

    def _update_seconds(self) -> float:
        """Return the seconds of an update with the last gradients. The rate is 0, which takes as long as any other."""
        return self._median_seconds(lambda: self._solver.updater.apply(0.0, self._solver.iteration))

    def _median_seconds(self, task: Callable[[], object]) -> float:
        """Return the median seconds of a task that runs a few times."""
        return median(iteration_seconds(task, self._time_after_all, total=0.0))

    def _time_after_all(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return time.perf_counter()


def overhead_ratio(records: Iterable[RoundRecord]) -> float:
    """Return the ratio of waiting and exchanging to computing, in the rounds of a run with several workers.

    Excludes exchanges during computation, tests and saving.
    """
    rounds = list(records)
    computing = sum(record.compute for record in rounds)
    if not computing:
        raise DistributedError(
            "the rounds contain no iterations, so exchanges can't be compared with computing; train some iterations "
            "first"
        )
    trained = sum(record.stop - record.start - _seconds_outside_training(record) for record in rounds)
    return (trained - computing) / computing


def _seconds_outside_training(record: RoundRecord) -> float:
    return sum(span.stop - span.start for span in record.spans if span.activity in (Activity.TEST, Activity.SAVE))
