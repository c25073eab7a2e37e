"""The estimated speed-up of a run with several workers on a given network."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from netdsl.distributed.machines import Link, Machines
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.errors import DistributedError
from netdsl.planner.units import format_bytes, format_seconds
from zoo.simulating.trials import ProgressCallback, Trial, TrialOutcome, measure_step, run_trials


@dataclass(frozen=True)
class SimulatedCluster:
    """The network and the machines. `step` is the time of an iteration, or `None` to measure it."""

    link: Link
    step: float | None = None
    stragglers: int = 0
    slowdown: float = 2.0
    jitter: float = 0.0
    lost: int = 0
    lost_after: int = 0

    def machines(self, step: float, workers: int) -> Machines:
        """Return machines for these workers, with iterations that take `step` seconds."""
        return Machines(step, workers, self.stragglers, self.slowdown, self.jitter, self.lost, self.lost_after)

    def steps(self, plan: Run) -> tuple[float, float]:
        """Return the time of an iteration on one machine and on a worker. The worker's is shorter if workers divide a
        batch."""
        step = measure_step(replace(plan, workers=1)).step if self.step is None else self.step
        if not plan.strategy.divides_batch:
            return step, step
        return step, measure_step(plan).step if self.step is None else step / plan.workers


@dataclass(frozen=True)
class SpeedupEstimate:
    """The outcomes of one machine and of several workers, and the accuracy at which they are compared."""

    says_too: ClassVar[tuple[str, ...]] = ("speedup",)

    goal: float
    single: TrialOutcome
    several: TrialOutcome
    single_step: float
    several_step: float

    @property
    def speedup(self) -> float | None:
        """The speed-up until the accuracy is reached, or `None` if it isn't reached."""
        single, several = self.single.first_reaching(self.goal), self.several.first_reaching(self.goal)
        return single.time / several.time if single and several and single.time and several.time else None


def estimate_speedup(
    plan: Run, cluster: SimulatedCluster, report_progress: ProgressCallback, goal: float | None = None
) -> SpeedupEstimate:
    """Simulate one machine and the plan's workers. The default goal is the best accuracy that both reach in the end."""
    plan = plan.settled()
    test_interval = plan.solver.param.test_interval or 1
    single_plan = replace(plan, workers=1, strategy=ModelAveraging(test_interval))
    step, worker_step = cluster.steps(plan)
    one_machine = Machines(step, jitter=cluster.jitter)
    machines = cluster.machines(worker_step, plan.workers)
    stop_at = math.inf if goal is None else goal
    single, several = run_trials(
        [Trial(single_plan, Link(), one_machine, stop_at), Trial(plan, cluster.link, machines, stop_at)],
        report_progress,
    )
    if not single.points:
        raise DistributedError(
            "the settings test no output with the name accuracy, so the trainings can't be compared; add an "
            "Accuracy layer for testing to the net, and test_iter and test_interval to the solver"
        )
    goal = min(single.best, several.best) if goal is None else goal
    return SpeedupEstimate(goal, single, several, step, worker_step)


def estimate_table(estimate: SpeedupEstimate) -> list[tuple[str, ...]]:
    """Return the estimate as a table, with columns for one machine and for several workers."""
    both = (estimate.single, estimate.several)
    points = [outcome.first_reaching(estimate.goal) for outcome in both]
    return [
        ("", "one machine", f"{len(estimate.several.usages)} workers"),
        ("an iteration", format_seconds(estimate.single_step), format_seconds(estimate.several_step)),
        (
            f"time to {estimate.goal:.2%}",
            *("never" if point is None else format_seconds(point.time) for point in points),
        ),
        ("iterations until then", *("" if point is None else str(point.iteration) for point in points)),
        ("best accuracy", *(f"{outcome.best:.2%}" for outcome in both)),
        ("time until the end", *(format_seconds(outcome.time) for outcome in both)),
        ("computing", *(f"{outcome.share('compute'):.1%}" for outcome in both)),
        ("waiting for others", *(f"{outcome.share('wait'):.1%}" for outcome in both)),
        ("exchanging", *(f"{outcome.share('exchange'):.1%}" for outcome in both)),
        ("exchanged by each worker", *(format_bytes(max(usage.bytes for usage in outcome.usages)) for outcome in both)),
    ]
