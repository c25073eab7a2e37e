"""SparkNet's Figure 3: the speed-up of several machines if exchanging costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netdsl.planner.convergence import ConvergenceGrid
from zoo.simulating.cache import TrialCache
from zoo.simulating.convergence import ConvergenceExperiment, iterations_needed
from zoo.simulating.pool import ProgressCallback


@dataclass(frozen=True)
class Speedup:
    """The iterations N_a of a single machine, and tau M_a of `workers` that average after every `tau`."""

    workers: int
    tau: int
    serial: float | None
    parallel: float | None

    @property
    def factor(self) -> float | None:
        """The speed-up N_a / (tau M_a), or None if the accuracy was never reached."""
        return None if self.serial is None or self.parallel is None else self.serial / self.parallel


def speedups(
    experiment: ConvergenceExperiment,
    report_progress: ProgressCallback,
    cache: TrialCache | None = None,
    *,
    workers: Sequence[int],
    taus: Sequence[int],
) -> list[Speedup]:
    """The speed-ups of each number of workers with each tau, row by row."""
    setups = {(count, tau): experiment.parallel(count, tau) for count in workers for tau in taus}
    iterations = iterations_needed(experiment, [experiment.serial(), *setups.values()], report_progress, cache)
    serial = iterations[experiment.serial()]
    return [Speedup(count, tau, serial, iterations[setup]) for (count, tau), setup in setups.items()]


def convergence_grid(experiment: ConvergenceExperiment, speedups: Sequence[Speedup]) -> ConvergenceGrid:
    """The iterations that trainings needed, as the planner reads them."""
    workers, taus = (
        sorted(set(values)) for values in zip(*((each.workers, each.tau) for each in speedups), strict=True)
    )
    serial, parallel = speedups[0].serial, {(each.workers, each.tau): each.parallel for each in speedups}
    words = ["--workers", _list(workers), "--taus", _list(taus), "--accuracy", f"{experiment.goal:g}"]
    words += ["--seeds", str(experiment.seeds), "--iterations", str(experiment.task.iterations)]
    return ConvergenceGrid(
        task=f"a small net on digits, batch {experiment.task.batch}, rate {experiment.task.rate:g}",
        command=" ".join(["zoo simulate speedup", *words]),
        goal=experiment.goal,
        seeds=experiment.seeds,
        serial=serial,
        workers=tuple(workers),
        taus=tuple(taus),
        parallel=tuple(tuple(parallel[count, tau] for tau in taus) for count in workers),
    )


def _list(values: Sequence[int]) -> str:
    return ",".join(map(str, values))
