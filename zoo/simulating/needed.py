"""How many iterations it takes to reach an accuracy, by the number of workers and by how often they average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from netdsl.distributed.run import Run
from netdsl.distributed.simulator.link import Link
from netdsl.distributed.simulator.machines import Machines
from netdsl.distributed.strategies.averaging import ModelAveraging
from zoo.simulating.cache import Cache
from zoo.simulating.digits import Task
from zoo.simulating.pool import Told, outcomes
from zoo.simulating.trial import Outcome, Trial

_EVERY = 10  # iterations, after which a model is tested, or after a round if that is longer


@dataclass(frozen=True)
class Cell:
    """So many workers that average after every `tau` iterations; one worker has nothing to average."""

    workers: int
    tau: int
    batch: int


@dataclass(frozen=True)
class Question:
    """What is to be reached, and with how many random seeds, of which the median counts."""

    goal: float = 0.96
    seeds: int = 3
    task: Task = field(default_factory=Task)

    def serial(self, batch: int | None = None) -> Cell:
        """A single machine."""
        return Cell(1, _EVERY, batch or self.task.batch)

    def parallel(self, workers: int, tau: int) -> Cell:
        """Several machines, each with batches as large as those of a single one."""
        return self.serial() if workers == 1 else Cell(workers, tau, self.task.batch)

    def trials(self, cell: Cell) -> list[Trial]:
        """One for each seed, in time that is counted in iterations."""
        task = replace(self.task, batch=cell.batch)
        settings = [task.settings(seed, max(_EVERY, cell.tau)) for seed in range(1, self.seeds + 1)]
        plans = [Run(param, ModelAveraging(cell.tau), cell.workers) for param in settings]
        return [Trial(plan, Link(), Machines(1.0, cell.workers), self.goal) for plan in plans]


Needed = dict[Cell, float | None]  # iterations; None where most runs never reach it


def needed(question: Question, cells: Sequence[Cell], told: Told, cache: Cache | None = None) -> Needed:
    """The median over the seeds."""
    wanted = list(dict.fromkeys(cells))
    done = iter(outcomes([trial for cell in wanted for trial in question.trials(cell)], told, cache))
    return {cell: _median(question, [next(done) for _ in range(question.seeds)]) for cell in wanted}


def _median(question: Question, found: list[Outcome]) -> float | None:
    reached = [outcome.reached(question.goal) for outcome in found]
    iterations = median(float("inf") if point is None else point.iteration for point in reached)
    return None if iterations == float("inf") else iterations
