"""Compares all ways to train a net on some machines, and chooses the best one."""

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
_AS_QUICK = 1.03  # a preferred way may take this many times as long as the best one
_MOST_PASSES = 64


@dataclass(frozen=True)
class PlanRequest:
    """The machines and the data for which to plan.

    `items` is the number of items in an epoch. `batches` are the smallest and the largest number of items in a worker's
    iteration, which is the solver's by default. Times are in seconds, and the budget is in device seconds.
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
    """One way to train, with its forecast. `cost` is the cost of one pass, and each worker does `passes` of them in an
    iteration.

    `measured` is whether trainings have shown the number of iterations that this strategy needs.
    """

    strategy: Strategy
    workers: int
    cost: PassCost
    passes: int
    times: StrategyTime | None  # `None` for one worker
    forecast: Forecast
    measured: bool

    @property
    def device_seconds(self) -> float:
        """The total time of all devices."""
        return self.workers * self.forecast.training


@dataclass(frozen=True)
class Planning:
    """All ways that fit into memory, the best one first, and the costs of passes by batch."""

    request: PlanRequest
    net: str
    model: ModelSize
    candidates: tuple[Candidate, ...]
    passes: tuple[PassCost, ...]
    misfit: MemoryBoundError | None  # for the first batch that was tried and doesn't fit

    @property
    def best(self) -> Candidate:
        """The recommended way."""
        return self.candidates[0]

    def by_strategy(self) -> list[Candidate]:
        """Return the best way of each strategy, with the recommended number of workers."""
        same = [each for each in self.candidates if each.workers == self.best.workers]
        return list({each.strategy.name: each for each in reversed(same)}.values())[::-1]

    def by_workers(self, strategy: str) -> list[Candidate]:
        """Return the best way of a strategy for each number of workers."""
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
    """Plans the training of one net. Computes the cost of a pass only once for each batch and device."""

    def __init__(self, solver: SolverSettings, items: Items | None = None) -> None:
        model = replace(solver.trained, items=items or {})
        self._solver = solver.param
        self._built, self.data = model.layers(Phase.TRAIN), model.data(Phase.TRAIN)
        self.net, self.iterations = model.net.name, self._solver.max_iter
        self.items = _own_batch(self._built) * self._solver.iter_size  # in an iteration, by the solver's settings
        self._costs: dict[tuple[str, ComputePrecision, int], PassCost | MemoryBoundError] = {}

    @cached_property
    def model(self) -> ModelSize:
        """The size of the values that workers exchange."""
        with without_values(self._built, torch.device("cpu")):
            return ModelSize.of(FlatWeights(self._built))

    def plan(self, request: PlanRequest) -> Planning:
        """Compare all ways to train. Raises a `PlanError` with the possible alternative if the request can't be met."""
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
                else PlanError(
                    "the strategies can't divide the batch among this many workers; change --machines, --batch "
                    "or --strategy so that the workers divide the batch"
                )
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
        """Return the numbers of items in an iteration to try: the solver's, or the limits and all powers of two between
        them."""
        if request.batches is None:
            return [self.items]
        least, most = request.batches
        return sorted({least, most, *(2**power for power in range(32) if least <= 2**power <= most)})

    def _quickest(self, request: PlanRequest, items: int) -> tuple[PassCost, int] | None:
        """Return the cost of the fastest pass for this many items in an iteration, and the number of passes.

        Returns `None` if none fits into memory.
        """
        fitting = []
        for passes in (count for count in range(1, min(items, _MOST_PASSES) + 1) if items % count == 0):
            cost = self._pass_cost(request, items // passes)
            if isinstance(cost, PassCost):
                fitting.append((cost, passes))
                if len(fitting) > 1 and fitting[-1][0].iteration(passes) > fitting[-2][0].iteration(fitting[-2][1]):
                    break  # smaller batches are only slower
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
            cost.bytes + (self.model.bytes if workers > 1 else 0),  # a copy of the model is exchanged
            request.items / (cost.batch * passes * workers) * (step + exchange),
            iterations,
            estimated=not exact or items != self.items,
        )
        measured = exact or isinstance(strategy, ModelAveraging)  # the trainings in the grid used these strategies
        return Candidate(strategy, workers, cost, passes, times, forecast, measured)


def _ranked(candidates: Sequence[Candidate], request: PlanRequest) -> tuple[Candidate, ...]:
    """Return the best candidate that meets the request, followed by all others in the order of their times."""
    quickest = sorted(candidates, key=lambda each: each.forecast.training)
    known = [each for each in quickest if each.measured or request.strategies]
    cheapest = min(known, key=lambda each: each.device_seconds)
    fitting = [each for each in known if request.deadline is None or each.forecast.training <= request.deadline]
    if not fitting:
        raise PlanError(
            f"{format_seconds(request.deadline or 0)} isn't enough time: the fastest way takes "
            f"{format_seconds(known[0].forecast.training)}, with {describe(known[0])}; raise --deadline, or "
            "allow more machines"
        )
    paid = [each for each in fitting if request.budget is None or each.device_seconds <= request.budget]
    if not paid:
        raise PlanError(
            f"{format_seconds(request.budget or 0)} of device time isn't enough: the cheapest way takes "
            f"{format_seconds(cheapest.device_seconds)}, with {describe(cheapest)}; raise --budget"
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
    """Return a short description of a candidate."""
    if candidate.workers == 1:
        return "one worker"
    return f"{candidate.workers} workers and {short_name(candidate.strategy)}"


def short_name(strategy: Strategy) -> str:
    """Return a strategy as a user would type it, with its tau if it has one."""
    tau = getattr(strategy, "tau", None)
    return strategy.name if tau is None or strategy.divides_batch else f"{strategy.name}:tau={tau}"


def _own_batch(built: Built) -> int:
    batches = [built.shapes[edge][0] for edge in built.input_edges() if built.shapes[edge]]
    if not batches:
        raise PlanError(
            f"net '{built.graph.net.name}' has no input with a batch; begin it with a data layer or an Input layer"
        )
    return batches[0]


def _worker_counts(most: int) -> list[int]:
    """Return the numbers of workers to try: all small numbers, then larger steps, and the largest number."""
    return sorted({*range(1, min(most, 8) + 1), *(count for count in range(8, most, max(4, most // 16))), most})


def _strategies_for(workers: int) -> list[Strategy]:
    """Return all strategies with their default settings, and with several taus if they have a tau.

    A single worker needs no strategy, so model averaging is the only one.
    """
    if workers == 1:
        return [ModelAveraging()]
    ways: list[Strategy] = []
    for kind in STRATEGIES.values():
        own = kind()
        has_tau = not own.divides_batch and isinstance(getattr(own, "tau", None), int)
        ways += [msgspec.structs.replace(own, tau=tau) for tau in _TAUS] if has_tau else [own]
    return ways
