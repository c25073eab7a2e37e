"""The comparison of all ways to train a net on some machines, and the choice of the best one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
import torch

from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.settings import STRATEGIES
from netdsl.distributed.strategies.strategy import ModelSize, Strategy
from netdsl.errors import MemoryBoundError, PlanError
from netdsl.model.data_shapes import Items
from netdsl.net.build import Built
from netdsl.net.compute_precision import ComputePrecision
from netdsl.net.graph import Phase
from netdsl.planner.convergence import read_grid
from netdsl.planner.device import DeviceCluster
from netdsl.planner.exchange import StrategyTime, predict
from netdsl.planner.operations import without_values
from netdsl.planner.plan import Forecast, Plan
from netdsl.planner.step_time import PassCost, pass_cost
from netdsl.planner.units import format_seconds
from netdsl.solver.flat import FlatWeights
from netdsl.solver.settings import SolverSettings

_TAUS = (5, 10, 25, 50, 100)
_AS_QUICK = 1.03  # how many times as long a way may take that is preferred for another reason
_MOST_PASSES = 64


@dataclass(frozen=True)
class PlanRequest:
    """What to plan for: the machines, and how many items an epoch has.

    `batches` are the least and the most items of a worker's iteration; by default it has the solver's. Times are in
    seconds, and the budget is in seconds of a device.
    """

    cluster: DeviceCluster
    items: int
    precision: ComputePrecision = ComputePrecision.EXACT
    batches: tuple[int, int] | None = None
    strategies: Sequence[Strategy] = ()
    deadline: float | None = None
    budget: float | None = None


@dataclass(frozen=True)
class Candidate:
    """One way to train, and what is expected of it. `cost` is that of one of a worker's `passes` in an iteration.

    `measured` is whether trainings have shown how many iterations this strategy needs.
    """

    strategy: Strategy
    workers: int
    cost: PassCost
    passes: int
    times: StrategyTime | None  # None for one worker
    forecast: Forecast
    measured: bool

    @property
    def device_seconds(self) -> float:
        """What it takes of all devices together."""
        return self.workers * self.forecast.training


@dataclass(frozen=True)
class Planning:
    """All ways that fit, the best one first, and what passes cost by batch."""

    request: PlanRequest
    net: str
    model: ModelSize
    candidates: tuple[Candidate, ...]
    passes: tuple[PassCost, ...]
    misfit: MemoryBoundError | None  # of the first batch that was tried and doesn't fit

    @property
    def best(self) -> Candidate:
        """The way that is recommended."""
        return self.candidates[0]

    def by_strategy(self) -> list[Candidate]:
        """Return the best way of each strategy, with as many workers as the recommended one."""
        same = [each for each in self.candidates if each.workers == self.best.workers]
        return list({each.strategy.name: each for each in reversed(same)}.values())[::-1]

    def by_workers(self, strategy: str) -> list[Candidate]:
        """Return the best way of a strategy with each number of workers."""
        same = [each for each in self.candidates if each.strategy.name == strategy or each.workers == 1]
        return sorted({each.workers: each for each in reversed(same)}.values(), key=lambda each: each.workers)

    def plan(self, reasons: Sequence[str] = ()) -> Plan:
        """Return the recommended way as a plan."""
        best, cluster = self.best, self.request.cluster
        return Plan(
            self.net,
            cluster.device.name,
            math.ceil(best.workers / cluster.devices),
            best.workers,
            best.strategy,
            best.cost.batch * (best.workers if best.strategy.divides_batch else 1),
            best.passes,
            self.request.precision,
            best.forecast,
            tuple(reasons),
            best.cost.algorithms,
        )


class Planner:
    """Plans the training of one net. What a pass costs is computed once for each batch and device."""

    def __init__(self, solver: SolverSettings, items: Items | None = None) -> None:
        model = replace(solver.trained, items=items or {})
        self._solver = solver.param
        self._built, self.data = model.layers(Phase.TRAIN), model.data(Phase.TRAIN)
        self.net, self.iterations = model.net.name, self._solver.max_iter
        self.items = _own_batch(self._built) * self._solver.iter_size  # of an iteration, as the solver has it
        self._costs: dict[tuple[str, ComputePrecision, int], PassCost | MemoryBoundError] = {}

    @cached_property
    def model(self) -> ModelSize:
        """The size of what is exchanged."""
        with without_values(self._built, torch.device("cpu")):
            return ModelSize.of(FlatWeights(self._built))

    def plan(self, request: PlanRequest) -> Planning:
        """Compare all ways; a PlanError says what is possible if what was asked for isn't."""
        candidates = list(self._candidates(request))
        costs = [
            cost
            for (device, precision, *_), cost in self._costs.items()
            if device == request.cluster.device.name and precision is request.precision
        ]
        misfits = [cost for cost in costs if isinstance(cost, MemoryBoundError)]
        if not candidates:
            raise (
                misfits[-1]
                if misfits
                else PlanError("no way to train divides the batch among this many workers; name another one")
            )
        passes = {cost.batch: cost for cost in costs if isinstance(cost, PassCost)}
        ranked = _ranked(candidates, request)
        return Planning(
            request, self.net, self.model, ranked, tuple(passes[key] for key in sorted(passes)), (*misfits, None)[0]
        )

    def _candidates(self, request: PlanRequest) -> Iterator[Candidate]:
        for items in self._iteration_items(request):
            for workers in _worker_counts(request.cluster.workers):
                for strategy in request.strategies or _strategies_for(workers):
                    share, rest = divmod(items, workers if strategy.divides_batch else 1)
                    found = None if rest else self._quickest(request, share)
                    if found is not None:
                        yield self._candidate_of(request, strategy, workers, *found)

    def _iteration_items(self, request: PlanRequest) -> list[int]:
        """Return the items of an iteration that are tried: the recipe's, or powers of two between the limits and
        these."""
        if request.batches is None:
            return [self.items]
        least, most = request.batches
        return sorted({least, most, *(2**power for power in range(32) if least <= 2**power <= most)})

    def _quickest(self, request: PlanRequest, items: int) -> tuple[PassCost, int] | None:
        """Return the quickest passes that see this many items in an iteration, and how many they are; None if none
        fit."""
        fitting = []
        for passes in (count for count in range(1, min(items, _MOST_PASSES) + 1) if items % count == 0):
            cost = self._pass_cost(request, items // passes)
            if isinstance(cost, PassCost):
                fitting.append((cost, passes))
                if len(fitting) > 1 and fitting[-1][0].iteration(passes) > fitting[-2][0].iteration(fitting[-2][1]):
                    break  # smaller ones only become slower
        return min(fitting, key=lambda pair: pair[0].iteration(pair[1]), default=None)

    def _pass_cost(self, request: PlanRequest, batch: int) -> PassCost | MemoryBoundError:
        device, precision = request.cluster.device, request.precision
        key = device.name, precision, batch
        if key not in self._costs:
            try:
                self._costs[key] = pass_cost(self._built, self._solver, device, precision, batch)
            except MemoryBoundError as problem:
                self._costs[key] = problem
        return self._costs[key]

    def _candidate_of(
        self, request: PlanRequest, strategy: Strategy, workers: int, cost: PassCost, passes: int
    ) -> Candidate:
        step, cluster = cost.iteration(passes), request.cluster
        times, exchange, tau = None, 0.0, 1
        if workers > 1:
            pace, link = cluster.pace(workers, step), cluster.link(workers)
            times = predict(strategy, self.model, pace, link, cost.backward)
            tau = times.tau
            exchange = times.round.total / tau - step
        exact = strategy.divides_batch or workers == 1
        factor = 1.0 if exact else read_grid().estimate(workers, tau).factor
        items = cost.batch * passes * (workers if strategy.divides_batch else 1)
        iterations = math.ceil(self.iterations / factor * self.items / items)
        forecast = Forecast(
            step,
            exchange,
            cost.bytes + (self.model.bytes if workers > 1 else 0),  # a copy is exchanged
            request.items / (cost.batch * passes * workers) * (step + exchange),
            iterations,
            estimated=not exact or items != self.items,
        )
        measured = exact or isinstance(strategy, ModelAveraging)  # which the trainings of the grid are of
        return Candidate(strategy, workers, cost, passes, times, forecast, measured)


def _ranked(candidates: Sequence[Candidate], request: PlanRequest) -> tuple[Candidate, ...]:
    """Return the candidates that do what is asked, the best one first; the others follow by their time."""
    quickest = sorted(candidates, key=lambda each: each.forecast.training)
    known = [each for each in quickest if each.measured or request.strategies]
    cheapest = min(known, key=lambda each: each.device_seconds)
    fitting = [each for each in known if request.deadline is None or each.forecast.training <= request.deadline]
    if not fitting:
        raise PlanError(
            f"{format_seconds(request.deadline or 0)} isn't enough: the quickest way takes "
            f"{format_seconds(known[0].forecast.training)}, with {describe(known[0])}"
        )
    paid = [each for each in fitting if request.budget is None or each.device_seconds <= request.budget]
    if not paid:
        raise PlanError(
            f"{format_seconds(request.budget or 0)} of devices aren't enough: the cheapest way takes "
            f"{format_seconds(cheapest.device_seconds)} of them, with {describe(cheapest)}"
        )
    aim = _device_seconds if request.deadline is not None else _training_seconds
    limit = _AS_QUICK * min(map(aim, paid))
    equal = [each for each in paid if aim(each) <= limit]
    best = min(equal, key=lambda each: (each.workers, each.forecast.estimated, aim(each)))
    return best, *(each for each in quickest if each is not best)


def _device_seconds(candidate: Candidate) -> float:
    return candidate.device_seconds


def _training_seconds(candidate: Candidate) -> float:
    return candidate.forecast.training


def describe(candidate: Candidate) -> str:
    """Return a candidate in some words."""
    if candidate.workers == 1:
        return "one worker"
    return f"{candidate.workers} workers and {short_name(candidate.strategy)}"


def short_name(strategy: Strategy) -> str:
    """Return a strategy as one would type it, with its tau if it has one."""
    tau = getattr(strategy, "tau", None)
    return strategy.name if tau is None or strategy.divides_batch else f"{strategy.name}:tau={tau}"


def _own_batch(built: Built) -> int:
    batches = [built.shapes[edge][0] for edge in built.input_edges() if built.shapes[edge]]
    if not batches:
        raise PlanError(f"net '{built.graph.net.name}' has no input that a batch could be of")
    return batches[0]


def _worker_counts(most: int) -> list[int]:
    """Numbers of workers that are tried: all small ones, then fewer and fewer, and the most."""
    return sorted({*range(1, min(most, 8) + 1), *(count for count in range(8, most, max(4, most // 16))), most})


def _strategies_for(workers: int) -> list[Strategy]:
    """Return all strategies with their own settings and, where they have a tau, with several. One worker needs none."""
    if workers == 1:
        return [ModelAveraging()]
    ways: list[Strategy] = []
    for kind in STRATEGIES.values():
        own = kind()
        has_tau = not own.divides_batch and isinstance(getattr(own, "tau", None), int)
        ways += [msgspec.structs.replace(own, tau=tau) for tau in _TAUS] if has_tau else [own]
    return ways
