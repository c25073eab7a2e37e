"""Advice on a training, in sentences, and the lemmas on which it is based: how many machines are worth using."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from netdsl.errors import DistributedError, NetError
from netdsl.net.compute_precision import ComputePrecision
from netdsl.planner.device import read_device
from netdsl.planner.plan import Forecast
from netdsl.planner.planning import Planner, Planning, PlanRequest, describe, short_name
from netdsl.planner.step_profile import StepProfile
from netdsl.planner.step_time import NUMBERS
from netdsl.planner.units import format_bytes, format_seconds

_CLOSE = 0.9  # share of a limit that can't be reached
_ROUNDING = 1e-9
_WORTH = 0.9  # share of the time; advice must shorten the training to less than this
_HALF = 0.5  # share of the time
_LONG = 7 * 86_400.0  # seconds
_ANY_GPU = "t4"  # widely available, and cheap to rent


@dataclass(frozen=True)
class Advice:
    """Answers to the four questions of a user who plans a training."""

    use: tuple[str, ...]
    takes: tuple[str, ...]
    limits: tuple[str, ...]
    change_first: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """All sentences, in the order of the questions."""
        return (*self.use, *self.takes, *self.limits, *self.change_first)


def advise(planner: Planner, planning: Planning) -> Advice:
    """Return advice on a planning, including the effect of other machines."""
    return Advice(
        tuple(_usage_advice(planner, planning)),
        tuple(_time_and_memory(planning)),
        tuple(_limit_advice(planning)),
        tuple(_change_advice(planner, planning)),
    )


def format_iterations(forecast: Forecast) -> str:
    """Return the number of iterations, rounded if it is an estimate."""
    if not forecast.estimated:
        return f"{forecast.iterations:,}"
    rounded = float(f"{forecast.iterations:.2g}")
    return f"about {rounded:,.0f}"


def headline(planning: Planning) -> str:
    """Return the net and the machines for which the plan was made."""
    cluster = planning.request.cluster
    devices = f"{cluster.devices} x {cluster.device.title}" if cluster.devices > 1 else cluster.device.title
    if cluster.machines == 1:
        return f"{planning.net} on one machine with {devices}"
    network = f"{format_bytes(cluster.bandwidth)}/s"
    return f"{planning.net} on {cluster.machines} machines, each with {devices}, on a network with {network}"


def advise_by_profile(profile: StepProfile, devices: int) -> tuple[str, ...]:
    """Return sentences on what Lemma 3.1 predicts from the measured overhead of an iteration."""
    ratio = profile.overhead_ratio
    parts = {"waiting for data": profile.data, "copying data": profile.transfer, "updating": profile.update}
    named = ", ".join(f"{format_seconds(value)} {name}" for name, value in parts.items())
    sentences = [
        f"Measured here, an iteration computes for {format_seconds(profile.compute)} and spends {named}. This "
        f"is an overhead of {ratio:.1%}."
    ]
    if devices > 1:
        part = efficiency(ratio, devices)
        sentences.append(
            f"By Lemma 3.1, {devices} devices share the computing work with an efficiency of {part:.0%}, which "
            f"makes them {devices * part:.2g} times as fast as one. An efficiency of 80% requires an overhead "
            f"of at most {acceptable_overhead(0.8, devices):.1%}."
        )
    return tuple(sentences)


def _usage_advice(planner: Planner, planning: Planning) -> Iterator[str]:
    best, request = planning.best, planning.request
    share = best.cost.batch * best.passes
    passes = "" if best.passes == 1 else f", in {best.passes} passes of {best.cost.batch} (iter_size)"
    part = " (its part of the net's batch)" if best.strategy.divides_batch else ""
    each = "a" if best.workers == 1 else "each with a"
    yield f"Train with {describe(best)}, {each} batch of {share}{part}{passes}."
    if best.workers < request.cluster.workers:
        yield f"More of the {request.cluster.workers} devices aren't worth it: {_cost_of_more_workers(planning)}."
    if best.forecast.iterations < planner.iterations:
        yield (
            f"Each worker needs {format_iterations(best.forecast)} iterations instead of "
            f"{planner.iterations:,}. Set --max-iter to this number, and shift the steps of the learning rate "
            "by the same factor."
        )
    together = share * (best.workers if best.strategy.divides_batch else 1)
    if together != planner.items:
        times = f"{together / planner.items:.3g} times as much"
        yield (
            f"The recipe's learning rate is for a batch of {planner.items}. For {together} items in total, start "
            f"with {times}."
        )


def _cost_of_more_workers(planning: Planning) -> str:
    """Return the time that more workers than the recommended number would need."""
    more = [each for each in planning.candidates if each.workers > planning.best.workers and each.measured]
    if not more:
        return "they can't divide the batch"
    change = more[0].forecast.training / planning.best.forecast.training - 1
    return f"{describe(more[0])} take {format_seconds(more[0].forecast.training)}, {change:+.0%}"


def _time_and_memory(planning: Planning) -> Iterator[str]:
    best, cluster = planning.best, planning.request.cluster
    forecast = best.forecast
    exchange = f" and {format_seconds(forecast.exchange)} of exchanges and waits" if best.workers > 1 else ""
    yield f"An iteration takes {format_seconds(forecast.compute)} of computing{exchange}."
    basis = ""
    if forecast.estimated:
        basis = "; the number of iterations is an estimate from trainings of a small net on digits"
    yield (
        f"An epoch takes {format_seconds(forecast.epoch)}, and the training {format_seconds(forecast.training)} "
        f"({format_iterations(forecast)} iterations of each worker{basis})."
    )
    if forecast.training > _LONG:
        yield "That is long. Fine-tuning existing weights takes a small part of that time."
    yield (
        f"A device needs {format_bytes(forecast.memory)} of its {format_bytes(cluster.device.memory)} for a batch of "
        f"{best.cost.batch}."
    )


def _limit_advice(planning: Planning) -> Iterator[str]:
    best, cluster = planning.best, planning.request.cluster
    forecast = best.forecast
    share = forecast.exchange / forecast.iteration
    if share > _HALF:
        yield f"The network is the limit: {share:.0%} of the time goes into exchanges and waits."
    else:
        yield f"Computing is the limit, with {1 - share:.0%} of the time."
    if best.workers > cluster.devices:
        servers = parameter_servers(planning.model.bytes, best.workers, cluster.bandwidth, forecast.compute)
        yield (
            f"To hide an exchange after every iteration, {servers} parameter server{'s' * (servers > 1)} would be "
            "needed (Lemma 3.2)."
        )
    if planning.misfit is not None and best.passes > 1:
        yield f"Memory limits the batch: {planning.misfit}."


def _change_advice(planner: Planner, planning: Planning) -> Iterator[str]:
    """Yield changes that would make the training faster, the best one first."""
    results = []
    for text, request in _other_requests(planning.request):
        try:
            found = planner.plan(request)
        except NetError:  # an impossible change isn't advice
            continue
        ratio = found.best.forecast.training / planning.best.forecast.training
        if ratio < _WORTH:
            results.append(
                (ratio, f"{text}: {format_seconds(found.best.forecast.training)}, with {describe(found.best)}.")
            )
    yield from (sentence for _, sentence in sorted(results))
    hidden = [each for each in planning.candidates if not each.measured and each.workers == planning.best.workers]
    if hidden and hidden[0].forecast.training < _WORTH * planning.best.forecast.training:
        yield (
            f"{short_name(hidden[0].strategy)} would take {format_seconds(hidden[0].forecast.training)} if it "
            "needed as many iterations as averaging does, but no training has shown that here."
        )
    if not results:
        yield "No simple change makes it much faster."


def _other_requests(request: PlanRequest) -> Iterator[tuple[str, PlanRequest]]:
    """Yield changes that a user can make, without limits on time and budget."""
    free, cluster = replace(request, deadline=None, budget=None), request.cluster
    if cluster.machines > 1:
        yield "A network with ten times the bandwidth", replace(free, cluster=cluster.with_bandwidth(10))
        if cluster.stragglers:
            yield "Without the slow machines", replace(free, cluster=cluster.without_stragglers())
    for precision, number_type in NUMBERS.items():
        if request.precision is ComputePrecision.EXACT and number_type in cluster.device.arithmetic:
            yield f"With --precision {precision.value}", replace(free, precision=precision)
    if cluster.device.type == "cpu":
        gpu = read_device(_ANY_GPU)
        yield f"An {gpu.title} in each machine", replace(free, cluster=replace(cluster, device=gpu))
    yield "Twice as many machines", replace(free, cluster=replace(cluster, machines=2 * cluster.machines))


def efficiency(overhead: float, gpus: int) -> float:
    """Return the share of its work with which each of this many GPUs contributes to the speed-up, by Lemma 3.1.

    `overhead` is R_O, the ratio of the time in which a single GPU doesn't compute to the time in which it does. Only
    computing is divided among GPUs, so this is Amdahl's law.
    """
    _check_overhead(overhead, gpus)
    return (1 + overhead) / (1 + gpus * overhead)


def speedup(overhead: float, gpus: int) -> float:
    """Return how many times faster than one GPU this many GPUs are."""
    return gpus * efficiency(overhead, gpus)


def acceptable_overhead(efficiency: float, gpus: int) -> float:
    """Return the largest overhead ratio with which this many GPUs reach an efficiency. Returns infinity if they always
    reach it."""
    _check_overhead(0.0, gpus)
    if not 0 < efficiency <= 1:
        raise DistributedError(f"an efficiency of {efficiency:g} isn't possible; give a share above 0 and at most 1")
    if efficiency * gpus <= 1:
        return math.inf
    return (1 - efficiency) / (efficiency * gpus - 1)


def gpus_for(speedup: float, overhead: float) -> int:
    """Return the smallest number of GPUs that is this many times as fast as one.

    Raises a `DistributedError` if no number of GPUs is.
    """
    _check_overhead(overhead, 1)
    if speedup <= 1:
        return 1
    left = 1 + overhead - speedup * overhead
    if left <= _ROUNDING:
        raise DistributedError(_why_out_of_reach(speedup, overhead))
    return math.ceil(speedup / left - _ROUNDING)


def _why_out_of_reach(speedup: float, overhead: float) -> str:
    """Return why no number of GPUs makes training this many times as fast, and which number comes close."""
    limit = 1 + 1 / overhead
    near = gpus_for(_CLOSE * limit, overhead)
    return (
        f"with an overhead of {overhead:.1%} of computing, no number of GPUs is {speedup:g} times as fast as "
        f"one: the limit is {limit:.3g}, and {near} GPUs are {_CLOSE * limit:.3g} times as fast; for "
        f"{speedup:g}, reduce the overhead to less than {1 / (speedup - 1):.1%}, with larger batches, more "
        "threads that load data, or fewer exchanges"
    )


def parameter_servers(parameter_bytes: int, workers: int, bandwidth: float, computing: float) -> int:
    """Return the smallest number of parameter servers that hides the exchanges with workers, by Lemma 3.2.

    In each round a worker pulls and pushes all parameters once, and computes for `computing` seconds. `bandwidth` is a
    server's, in bytes per second.
    """
    if parameter_bytes < 0 or workers < 1 or bandwidth <= 0 or computing <= 0:
        raise DistributedError(
            "the number of parameter servers can't be computed; give at least one worker, and a bandwidth and a "
            "computing time above 0"
        )
    return max(1, math.ceil(2 * parameter_bytes * workers / (bandwidth * computing) - _ROUNDING))


def _check_overhead(overhead: float, gpus: int) -> None:
    if overhead < 0 or gpus < 1:
        raise DistributedError(
            f"an overhead of {overhead:g} on {gpus} GPUs isn't possible; give an overhead of 0 or more, and at "
            "least one GPU"
        )
