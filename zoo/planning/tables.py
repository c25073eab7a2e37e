"""The tables of a planning, as text and as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netdsl.planner.advice import Advice, format_iterations
from netdsl.planner.planning import Candidate, Planning, short_name
from netdsl.planner.units import format_seconds


def strategy_rows(planning: Planning) -> list[tuple[str, ...]]:
    """A row for the best way of every strategy, with as many workers as the recommended one has."""
    return [_row(each) for each in planning.by_strategy()]


def plain(planning: Planning, advice: Advice) -> dict[str, Any]:
    """All of it as JSON's values."""
    return {
        "net": planning.net,
        "device": planning.request.cluster.device.name,
        "use": advice.use,
        "takes": advice.takes,
        "limits": advice.limits,
        "change_first": advice.change_first,
        "algorithms": planning.best.cost.algorithms,
        "ways": [_plain(each) for each in planning.candidates],
        "passes": [
            {"batch": cost.batch, "seconds": cost.seconds, "bytes": cost.bytes, "memory": vars(cost.memory)}
            for cost in planning.passes
        ],
    }


def _row(candidate: Candidate) -> tuple[str, ...]:
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


def _plain(candidate: Candidate) -> dict[str, Any]:
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
