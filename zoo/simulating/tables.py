"""Tables of the simulated experiments, for CSV files and the terminal."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from caffe_proto.storage import atomic_path
from netdsl.planner.units import format_bytes, format_seconds
from zoo.simulating.cost import BatchCost, ExchangeCost
from zoo.simulating.estimate import SpeedupEstimate
from zoo.simulating.methods import MethodResult, common_end
from zoo.simulating.scaling import ScalingResult
from zoo.simulating.speedup import Speedup

Table = Sequence[Sequence[str]]  # the first row has the names of the columns

LEVELS = (0.9, 0.94, 0.96, 0.97)  # accuracies


def write_csv(path: Path, table: Table) -> None:
    """Write a table as a CSV file."""
    with atomic_path(path) as temporary, temporary.open("w", newline="") as file:
        csv.writer(file).writerows(table)


def speedup_table(speedups: Sequence[Speedup]) -> Table:
    """A row for each cell of the heat map; a speed-up is empty where the accuracy was never reached."""
    rows = [
        (
            str(speedup.workers),
            str(speedup.tau),
            _number(speedup.serial, ".0f"),
            _number(speedup.parallel, ".0f"),
            _number(speedup.factor),
        )
        for speedup in speedups
    ]
    return [("workers", "tau", "N_a", "tau M_a", "speed-up"), *rows]


def speedup_grid(speedups: Sequence[Speedup]) -> Table:
    """The heat map as a table: workers downwards, tau to the left."""
    taus = sorted({speedup.tau for speedup in speedups}, reverse=True)
    factors = {(speedup.workers, speedup.tau): speedup.factor for speedup in speedups}
    rows = [
        (str(count), *(_number(factors[count, tau], ".2f") or "never" for tau in taus))
        for count in sorted({speedup.workers for speedup in speedups})
    ]
    return [("K \\ tau", *map(str, taus)), *rows]


def cost_table(costs: Sequence[ExchangeCost]) -> Table:
    """A row for each point of the curves."""
    rows = [
        (f"{cost.ratio:.4g}", f"{cost.naive:.3f}", _number(cost.averaging), "" if cost.tau is None else str(cost.tau))
        for cost in costs
    ]
    return [("S/C", "naive", "averaging", "best tau"), *rows]


def batch_table(costs: Sequence[BatchCost]) -> Table:
    """A row for each batch size, with the time that a single machine needs."""
    rows = [
        (
            str(cost.batch),
            format_seconds(cost.step),
            format_seconds(cost.exchange),
            f"{cost.exchange / cost.step:.2f}",
            _number(cost.iterations, ".0f"),
            "" if cost.iterations is None else format_seconds(cost.iterations * cost.step),
        )
        for cost in costs
    ]
    return [("b", "C(b)", "S", "S/C(b)", "N_a(b)", "N_a(b) C(b)"), *rows]


def methods_table(results: Sequence[MethodResult]) -> Table:
    """The times at which each method reached accuracies, in iterations of one machine, and its final accuracy."""
    end = common_end(results)
    rows = [
        (
            result.setting.network.value,
            str(result.setting.ratio),
            result.method.value,
            *(_number(result.time_to_reach(level), ".0f") for level in LEVELS),
            f"{result.final_accuracy(end):.1%}",
            f"{result.compute_share:.0%}",
        )
        for result in results
    ]
    return [("network", "S/C", "method", *(f"{level:.0%}" for level in LEVELS), "in the end", "computing"), *rows]


def scaling_table(results: Sequence[ScalingResult], accuracy: float) -> Table:
    """The hours until an accuracy, and how many times faster that is than one worker, by workers and tau."""
    hours = {(result.workers, result.tau): result.time_to_reach(accuracy) for result in results}
    single = next(time for (workers, _), time in hours.items() if workers == 1)
    rows = [
        (
            str(workers),
            str(tau),
            _number(None if time is None else time / 3600, ".2f"),
            _number(single / time if single and time else None, ".2f"),
        )
        for (workers, tau), time in hours.items()
    ]
    return [("workers", "tau", f"hours to {accuracy:.0%}", "speed-up"), *rows]


def estimate_table(estimate: SpeedupEstimate) -> Table:
    """The estimate as a table: one machine beside several workers."""
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
        ("exchanged by each", *(format_bytes(max(usage.bytes for usage in outcome.usages)) for outcome in both)),
    ]


def _number(value: float | None, form: str = ".3f") -> str:
    return "" if value is None else format(value, form)
