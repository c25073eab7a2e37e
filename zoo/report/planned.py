"""What a plan expected of a run, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netdsl.distributed.run_log import RoundRecord
from netdsl.planner.plan import Forecast
from netdsl.planner.units import format_bytes, format_seconds
from zoo.report.recorded_run import RecordedRun


@dataclass(frozen=True)
class PlannedFigure:
    """A number that a plan has, and the one that was measured."""

    name: str
    planned: str
    measured: str
    ratio: float | None  # of what was measured to what was planned


def planned_figures(recorded: RecordedRun) -> list[PlannedFigure]:
    """The figures of the run's plan; none if it has none. A first round warms up, and counts if it's the only one."""
    if recorded.plan is None:
        return []
    first = min(record.number for record in recorded.records)
    records = [record for record in recorded.records if record.number > first] or list(recorded.records)
    return list(_figures(recorded.plan.forecast, records, max(record.memory for record in recorded.records)))


def _figures(forecast: Forecast, records: Sequence[RoundRecord], memory: int) -> Iterator[PlannedFigure]:
    steps = sum(record.steps for record in records)
    if steps:
        compute = sum(record.compute for record in records) / steps
        exchange = sum(record.wait + record.exchange for record in records) / steps
        yield _times("Computing an iteration", forecast.compute, compute)
        yield _times("Exchanges and waits, by iteration", forecast.exchange, exchange)
        yield _times("An iteration in all", forecast.iteration, compute + exchange)
    if memory:
        ratio = memory / forecast.memory if forecast.memory else None
        yield PlannedFigure("Memory of a worker", format_bytes(forecast.memory), format_bytes(memory), ratio)


def _times(name: str, planned: float, measured: float) -> PlannedFigure:
    ratio = measured / planned if planned else None
    return PlannedFigure(name, format_seconds(planned), format_seconds(measured), ratio)
