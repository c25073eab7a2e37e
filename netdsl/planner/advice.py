"""Advice on a training, in sentences, and the lemmas behind it: how many machines are worth having."""

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

_CLOSE = 0.9  # of a limit that is never reached
_ROUNDING = 1e-9
_WORTH = 0.9  # of the time, that a change must come below to be advised
_HALF = 0.5  # of the time
_LONG = 7 * 86_400.0  # seconds
_ANY_GPU = "t4"  # which many have, and clouds lend for little


@dataclass(frozen=True)
class Advice:
    """Sentences for the four questions of somebody who is going to train."""

    use: tuple[str, ...]
    takes: tuple[str, ...]
    limits: tuple[str, ...]
    change_first: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of them, in this order."""
        return (*self.use, *self.takes, *self.limits, *self.change_first)


def advise(planner: Planner, planning: Planning) -> Advice:
    """Advice on a planning, with what other machines would change."""
    return Advice(
        tuple(_say_what_to_use(planner, planning)),
        tuple(_say_what_it_takes(planning)),
        tuple(_say_what_limits(planning)),
        tuple(_say_what_to_change(planner, planning)),
    )


def format_iterations(forecast: Forecast) -> str:
    """Return the number of iterations, no more exactly than it is known."""
    if not forecast.estimated:
        return f"{forecast.iterations:,}"
    rounded = float(f"{forecast.iterations:.2g}")
    return f"about {rounded:,.0f}"


def headline(planning: Planning) -> str:
    """Return what was planned for."""
    cluster = planning.request.cluster
    devices = f"{cluster.devices} x {cluster.device.title}" if cluster.devices > 1 else cluster.device.title
    if cluster.machines == 1:
        return f"{planning.net} on one machine with {devices}"
    network = f"{format_bytes(cluster.bandwidth)}/s"
    return f"{planning.net} on {cluster.machines} machines, each with {devices}, on a network of {network}"


def advise_by_profile(profile: StepProfile, devices: int) -> tuple[str, ...]:
    """Return what Lemma 3.1 makes of the measured part of an iteration in which nothing is computed."""
    ratio = profile.overhead_ratio
    parts = {"waiting for data": profile.data, "copying them": profile.transfer, "updating": profile.update}
    named = ", ".join(f"{format_seconds(value)} {name}" for name, value in parts.items())
    sentences = [
        f"Measured here, an iteration computes for {format_seconds(profile.compute)} and spends {named}: an overhead "
        f"of {ratio:.1%}."
    ]
    if devices > 1:
        part = efficiency(ratio, devices)
        sentences.append(
            f"By Lemma 3.1, {devices} devices that share the computing work with an efficiency of {part:.0%}, "
            f"{devices * part:.2g} times as fast as one; for 80% the overhead must not exceed "
            f"{acceptable_overhead(0.8, devices):.1%}."
        )
    return tuple(sentences)


def _say_what_to_use(planner: Planner, planning: Planning) -> Iterator[str]:
    best, request = planning.best, planning.request
    share = best.cost.batch * best.passes
    passes = "" if best.passes == 1 else f", in {best.passes} passes of {best.cost.batch} (iter_size)"
    part = ", its part of the net's batch" if best.strategy.divides_batch else ""
    each = "a" if best.workers == 1 else "each with a"
    yield f"Train with {describe(best)}, {each} batch of {share}{part}{passes}."
    if best.workers < request.cluster.workers:
        yield f"More of the {request.cluster.workers} devices aren't worth it: {_say_what_more_workers_take(planning)}."
    if best.forecast.iterations < planner.iterations:
        yield (
            f"Each worker needs {format_iterations(best.forecast)} iterations in place of {planner.iterations:,}; "
            "--max-iter ends the training there, and the steps of the rate must come as much earlier."
        )
    together = share * (best.workers if best.strategy.divides_batch else 1)
    if together != planner.items:
        times = f"{together / planner.items:.3g} times as much"
        yield f"The recipe's rate is for a batch of {planner.items}; for {together} in all begin with {times}."


def _say_what_more_workers_take(planning: Planning) -> str:
    """Return what more workers than the recommended ones would take."""
    more = [each for each in planning.candidates if each.workers > planning.best.workers and each.measured]
    if not more:
        return "they can't divide the batch"
    change = more[0].forecast.training / planning.best.forecast.training - 1
    return f"{describe(more[0])} take {format_seconds(more[0].forecast.training)}, {change:+.0%}"


def _say_what_it_takes(planning: Planning) -> Iterator[str]:
    best, cluster = planning.best, planning.request.cluster
    forecast = best.forecast
    exchange = f" and {format_seconds(forecast.exchange)} of exchanges and waits" if best.workers > 1 else ""
    yield f"An iteration takes {format_seconds(forecast.compute)} of computing{exchange}."
    basis = ""
    if forecast.estimated:
        basis = "; the number of iterations is an estimate, from trainings of a small net on digits"
    yield (
        f"An epoch takes {format_seconds(forecast.epoch)}, and the training {format_seconds(forecast.training)} "
        f"({format_iterations(forecast)} iterations of each worker{basis})."
    )
    if forecast.training > _LONG:
        yield "That is long; to fine-tune weights that others have trained takes a small part of it."
    yield (
        f"A device needs {format_bytes(forecast.memory)} of its {format_bytes(cluster.device.memory)} for a batch of "
        f"{best.cost.batch}."
    )


def _say_what_limits(planning: Planning) -> Iterator[str]:
    best, cluster = planning.best, planning.request.cluster
    forecast = best.forecast
    share = forecast.exchange / forecast.iteration
    if share > _HALF:
        yield f"The network limits it: {share:.0%} of the time goes into exchanges and waits."
    else:
        yield f"Computing limits it, with {1 - share:.0%} of the time."
    if best.workers > cluster.devices:
        servers = parameter_servers(planning.model.bytes, best.workers, cluster.bandwidth, forecast.compute)
        yield (
            f"To hide an exchange after every iteration, {servers} parameter server{'s' * (servers > 1)} would be "
            "needed (Lemma 3.2)."
        )
    if planning.misfit is not None and best.passes > 1:
        yield f"Memory limits the batch: {planning.misfit}."


def _say_what_to_change(planner: Planner, planning: Planning) -> Iterator[str]:
    """Yield what would make it quicker, the best first."""
    results = []
    for text, request in _other_requests(planning.request):
        try:
            found = planner.plan(request)
        except NetError:  # what can't be done is no advice
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
            f"{short_name(hidden[0].strategy)} would take {format_seconds(hidden[0].forecast.training)} if it learned "
            "as averaging does with as many iterations, which no training has shown here."
        )
    if not results:
        yield "Nothing simple makes it much quicker."


def _other_requests(request: PlanRequest) -> Iterator[tuple[str, PlanRequest]]:
    """Changes that a user can make, without limits of time and budget."""
    free, cluster = replace(request, deadline=None, budget=None), request.cluster
    if cluster.machines > 1:
        yield "A network ten times as wide", replace(free, cluster=cluster.with_bandwidth(10))
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
    """Return the part of its work that each of this many GPUs does for the speed-up, by Lemma 3.1.

    `overhead` is R_O, the seconds in which a single GPU doesn't compute in each second in which it does. Only computing
    is divided among GPUs: this is Amdahl's law.
    """
    _check_overhead(overhead, gpus)
    return (1 + overhead) / (1 + gpus * overhead)


def speedup(overhead: float, gpus: int) -> float:
    """Return how many times as fast as one GPU this many are."""
    return gpus * efficiency(overhead, gpus)


def acceptable_overhead(efficiency: float, gpus: int) -> float:
    """Return the largest ratio of overhead with which this many GPUs have an efficiency; infinite if they always have
    it."""
    _check_overhead(0.0, gpus)
    if not 0 < efficiency <= 1:
        raise DistributedError(f"an efficiency of {efficiency:g}; it is a share, above 0 and 1 at most")
    if efficiency * gpus <= 1:
        return math.inf
    return (1 - efficiency) / (efficiency * gpus - 1)


def gpus_for(speedup: float, overhead: float) -> int:
    """Return the least number of GPUs that are this many times as fast as one; a DistributedError if no number is."""
    _check_overhead(overhead, 1)
    if speedup <= 1:
        return 1
    left = 1 + overhead - speedup * overhead
    if left <= _ROUNDING:
        raise DistributedError(_why_out_of_reach(speedup, overhead))
    return math.ceil(speedup / left - _ROUNDING)


def _why_out_of_reach(speedup: float, overhead: float) -> str:
    """Why no number of GPUs makes training this many times as fast, and what comes near to that."""
    limit = 1 + 1 / overhead
    near = gpus_for(_CLOSE * limit, overhead)
    return (
        f"with an overhead of {overhead:.1%} of computing no number of GPUs is {speedup:g} times as fast as one: the "
        f"limit is {limit:.3g}, and {near} GPUs are {_CLOSE * limit:.3g} times as fast; for {speedup:g} bring the "
        f"overhead below {1 / (speedup - 1):.1%}, with larger batches, more threads that load data, or fewer exchanges"
    )


def parameter_servers(parameter_bytes: int, workers: int, bandwidth: float, computing: float) -> int:
    """Return the least number of parameter servers that hide what workers exchange with them, by Lemma 3.2.

    Each worker pulls and pushes all parameters once in a round, in which it computes for this many seconds. `bandwidth`
    is that of a server, in bytes a second.
    """
    if parameter_bytes < 0 or workers < 1 or bandwidth <= 0 or computing <= 0:
        raise DistributedError("servers need one worker at least, and a bandwidth and a time of computing above 0")
    return max(1, math.ceil(2 * parameter_bytes * workers / (bandwidth * computing) - _ROUNDING))


def _check_overhead(overhead: float, gpus: int) -> None:
    if overhead < 0 or gpus < 1:
        raise DistributedError(
            f"an overhead of {overhead:g} on {gpus} GPUs; it can't be negative, and one GPU is the least"
        )
