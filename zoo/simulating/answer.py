"""How a run would go with several workers on a given network, beside one machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from netdsl.distributed.run import Run
from netdsl.distributed.simulator.link import Link
from netdsl.distributed.simulator.machines import Machines
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.errors import DistributedError
from zoo.simulating.measuring import measured
from zoo.simulating.pool import Told, outcomes
from zoo.simulating.trial import Outcome, Trial


@dataclass(frozen=True)
class Scene:
    """The network and the machines. `step` is what an iteration takes; it is measured here if it isn't given."""

    link: Link
    step: float | None = None
    stragglers: int = 0
    slowdown: float = 2.0
    jitter: float = 0.0

    def steps(self, plan: Run) -> tuple[float, float]:
        """An iteration of one machine, and of the plan's workers, who have less to do if they divide a batch."""
        step = measured(replace(plan, workers=1)).step if self.step is None else self.step
        if not plan.strategy.divides_batch:
            return step, step
        return step, measured(plan).step if self.step is None else step / plan.workers


@dataclass(frozen=True)
class Answer:
    """One machine and several workers, and the accuracy by which they are compared."""

    goal: float
    single: Outcome
    several: Outcome
    single_step: float
    several_step: float

    @property
    def speedup(self) -> float | None:
        """How much sooner several workers are there."""
        single, several = self.single.reached(self.goal), self.several.reached(self.goal)
        return single.time / several.time if single and several and single.time and several.time else None


def answer(plan: Run, scene: Scene, told: Told, goal: float | None = None) -> Answer:
    """Train both. Without a goal both train to the end, and the best accuracy that both reached is what counts."""
    plan = plan.settled()
    every = plan.solver.test_interval or 1
    single = replace(plan, workers=1, strategy=ModelAveraging(every))
    step, part = scene.steps(plan)
    alone = Machines(step, jitter=scene.jitter)
    together = Machines(part, plan.workers, scene.stragglers, scene.slowdown, scene.jitter)
    wanted = math.inf if goal is None else goal
    one, many = outcomes([Trial(single, Link(), alone, wanted), Trial(plan, scene.link, together, wanted)], told)
    if not one.points:
        raise DistributedError(
            "the settings test nothing that is called accuracy, so there is nothing to compare by; give the net an "
            "Accuracy layer for testing, and the solver test_iter and test_interval"
        )
    goal = min(one.best, many.best) if goal is None else goal
    return Answer(goal, one, many, step, part)
