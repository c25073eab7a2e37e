"""SparkNet's Figure 4: what exchanging may cost before several machines are no faster than one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from netdsl.distributed.run import Run
from netdsl.distributed.simulator.link import ExchangeKind, Link
from netdsl.distributed.strategies.averaging import ModelAveraging
from zoo.simulating.cache import Cache
from zoo.simulating.measuring import Measured, measured
from zoo.simulating.needed import Question, needed
from zoo.simulating.pool import Told
from zoo.simulating.speedup import Speedup

BATCHES = (4, 8, 16, 32, 64)
RATIOS = tuple(10 ** (power / 8) for power in range(-16, 25))  # S / C(b)


@dataclass(frozen=True)
class Costs:
    """Speed-ups when an exchange takes `ratio` iterations: gradients in each of them, or models at the best tau."""

    ratio: float
    naive: float
    averaging: float | None
    tau: int | None


def costs(found: Sequence[Speedup]) -> list[Costs]:
    """For each ratio, from what one number of workers needed without any cost."""
    return [_at(ratio, found) for ratio in RATIOS]


def _at(ratio: float, found: Sequence[Speedup]) -> Costs:
    workers = found[0].workers
    best = [(each.factor / (1 + ratio / each.tau), each.tau) for each in found if each.factor is not None]
    factor, tau = max(best) if best else (None, None)
    return Costs(ratio, 1 / (1 / workers + ratio), factor, tau)


@dataclass(frozen=True)
class BatchCost:
    """A batch on this machine, and the iterations N_a(b) that a single machine needs with such batches."""

    batch: int
    step: float  # C(b), in seconds
    exchange: float  # S, in seconds
    iterations: float | None


def batch_costs(
    question: Question, workers: int, link: Link, told: Told, cache: Cache | None = None
) -> list[BatchCost]:
    """For batches of several sizes, which are all trained at one rate."""
    found = needed(question, [question.serial(batch) for batch in BATCHES], told, cache)
    rows = []
    for batch in BATCHES:
        plan = Run(replace(question.task, batch=batch).settings(1, 1), ModelAveraging(), 1)
        one: Measured = measured(plan)
        exchange = link.seconds(ExchangeKind.MEAN, workers, one.bytes)
        rows.append(BatchCost(batch, one.step, exchange, found[question.serial(batch)]))
    return rows
