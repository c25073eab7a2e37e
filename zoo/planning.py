"""What `zoo plan` shows of a planning: its tables, as text and plain values, and its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netdsl.planner.advice import Advice, format_iterations
from netdsl.planner.planning import Candidate, Planning, short_name
from netdsl.planner.units import format_seconds
from zoo.logs.plots import pyplot, save_figure


def draw_batches(planning: Planning, path: Path) -> None:
    """Draw the seconds of an epoch on one device, and the memory, by the batch of a pass."""
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    batches = [cost.batch for cost in planning.passes]
    epochs = [planning.request.items * cost.seconds / cost.batch for cost in planning.passes]
    left.plot(batches, epochs, marker="o")
    left.set_ylabel("an epoch on one device")
    left.yaxis.set_major_formatter(lambda value, place: format_seconds(value))
    left.set_ylim(bottom=0)
    right.plot(batches, [cost.bytes / 1e9 for cost in planning.passes], marker="o", label="needed")
    right.axhline(planning.request.cluster.device.memory / 1e9, color="gray", linestyle="--", label="there is")
    right.set_ylabel("GB")
    right.set_yscale("log")
    right.legend(frameon=False)
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xticks(batches, [str(batch) for batch in batches], rotation=45)
        axis.tick_params(axis="x", which="minor", bottom=False)
        axis.set_xlabel("batch of a pass")
    save_figure(figure, path)


def draw_speedups(planning: Planning, path: Path) -> None:
    """Draw how many times as fast as one worker several are, for each strategy at its best tau."""
    figure, axis = pyplot().subplots(figsize=(7, 4.2), layout="constrained")
    names = dict.fromkeys(each.strategy.name for each in planning.candidates)
    alone = min((each.forecast.training for each in planning.candidates if each.workers == 1), default=None)
    most = planning.request.cluster.workers
    for name in names:
        ways = planning.by_workers(name)
        if alone is not None and len(ways) > 1:
            known = all(each.measured for each in ways)
            speedups = [alone / each.forecast.training for each in ways]
            axis.plot([each.workers for each in ways], speedups, marker=".", ls="-" if known else ":", label=name)
    axis.plot([1, most], [1, most], color="gray", linewidth=0.8, linestyle="--", label="as many times as workers")
    axis.set_xlabel("workers; dotted: if it learns as averaging does")
    axis.set_ylabel("times as fast as one worker")
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False)
    save_figure(figure, path)


def strategy_rows(planning: Planning) -> list[tuple[str, ...]]:
    """A row for the best way of every strategy, with as many workers as the recommended one has."""
    return [_row_of_candidate(each) for each in planning.by_strategy()]


def plain_planning(planning: Planning, advice: Advice) -> dict[str, Any]:
    """All of it as JSON's values."""
    return {
        "net": planning.net,
        "device": planning.request.cluster.device.name,
        "use": advice.use,
        "takes": advice.takes,
        "limits": advice.limits,
        "change_first": advice.change_first,
        "algorithms": planning.best.cost.algorithms,
        "ways": [_plain_candidate(each) for each in planning.candidates],
        "passes": [
            {"batch": cost.batch, "seconds": cost.seconds, "bytes": cost.bytes, "memory": vars(cost.memory)}
            for cost in planning.passes
        ],
    }


def _row_of_candidate(candidate: Candidate) -> tuple[str, ...]:
    forecast = candidate.forecast
    mark = "" if candidate.measured else " *"
    return (
        short_name(candidate.strategy) + mark,
        str(candidate.workers),
        str(candidate.cost.batch),
        format_seconds(forecast.compute),
        format_seconds(forecast.exchange),
        format_seconds(forecast.epoch),
        format_iterations(forecast),
        format_seconds(forecast.training),
    )


def _plain_candidate(candidate: Candidate) -> dict[str, Any]:
    forecast = candidate.forecast
    return {
        "strategy": short_name(candidate.strategy),
        "workers": candidate.workers,
        "batch": candidate.cost.batch,
        "iter_size": candidate.passes,
        "compute": forecast.compute,
        "exchange": forecast.exchange,
        "memory": forecast.memory,
        "epoch": forecast.epoch,
        "iterations": forecast.iterations,
        "estimated": forecast.estimated,
        "training": forecast.training,
    }


def is_marked(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a row is of a strategy whose iterations no training has shown."""
    return any(row[0].endswith(" *") for row in rows)
