"""A comparison of runs: the settings in which they differ, their results, and their curves in one chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from netdsl.charts import Chart, less_is_better, loss_chart, number, score_chart
from zoo.logs.summary import RunCurves
from zoo.report.contents import curves_of_tests
from zoo.report.facts import Fact, duration, solver_facts, training_facts
from zoo.report.recorded_run import RecordedRun

_RESULTS = ("Rounds", "Exchanged")  # facts that aren't settings


@dataclass(frozen=True)
class ComparedRow:
    """A row with a value for each run. `best` contains the indices of the best values, if a comparison makes sense."""

    name: str
    values: tuple[str, ...]
    best: tuple[int, ...] = ()


@dataclass(frozen=True)
class ComparisonContents:
    """The contents of a comparison page."""

    names: tuple[str, ...]
    folders: tuple[str, ...]
    made: str
    results: tuple[ComparedRow, ...]
    settings: tuple[ComparedRow, ...]  # the settings that differ
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]


def comparison_of(runs: Sequence[RecordedRun]) -> ComparisonContents:
    """Compare runs, and return the contents of the page."""
    names = _run_names(runs)
    return ComparisonContents(
        names,
        tuple(str(run.folder.resolve()) for run in runs),
        datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        tuple(_result_rows(runs)),
        tuple(_different_settings(runs)),
        tuple(_compared_charts(dict(zip(names, runs, strict=True)))),
        tuple(f"{name}: {note}" for name, run in zip(names, runs, strict=True) for note in run.notes),
    )


def _run_names(runs: Sequence[RecordedRun]) -> tuple[str, ...]:
    """Return the names of the runs' folders, or whole paths for equal names."""
    short = [run.folder.resolve().name for run in runs]
    return tuple(short if len(set(short)) == len(short) else (str(run.folder) for run in runs))


def _result_rows(runs: Sequence[RecordedRun]) -> list[ComparedRow]:
    tests = [{test.name: test for test in run.summary.tests} for run in runs]
    rows = []
    for name in dict.fromkeys(name for by_name in tests for name in by_name):
        better = min if less_is_better(name) else max
        for what in ("last", "best"):
            values = [getattr(by_name[name], what) if name in by_name else None for by_name in tests]
            rows.append(_row_with_best(f"test {name}, {what}", values, number, better))
    speeds = [run.summary.iterations_per_second for run in runs]
    rows.append(_row_with_best("iterations/s in total", speeds, number, max))
    rows.append(ComparedRow("iterations", tuple(f"{run.summary.iteration:,}" for run in runs)))
    rows.append(ComparedRow("time", tuple(duration(run.summary.seconds) for run in runs)))
    sent = [sum(worker.bytes for worker in run.summary.workers) / 1e6 for run in runs]
    return [*rows, ComparedRow("exchanged", tuple(f"{megabytes:,.1f} MB" for megabytes in sent))]


def _row_with_best(
    name: str,
    values: Sequence[float | None],
    text: Callable[[float], str],
    better: Callable[[Sequence[float]], float],
) -> ComparedRow:
    known = [value for value in values if value is not None and value == value]
    best = better(known) if len(known) > 1 and len(set(known)) > 1 else None
    places = tuple(place for place, value in enumerate(values) if best is not None and value == best)
    return ComparedRow(name, tuple("" if value is None else text(value) for value in values), places)


def _different_settings(runs: Sequence[RecordedRun]) -> list[ComparedRow]:
    """Return the settings in which runs differ."""
    by_run = [{fact.name: fact.value for fact in _setting_facts(run) if fact.name not in _RESULTS} for run in runs]
    rows = []
    for name in dict.fromkeys(name for facts in by_run for name in facts):
        values = tuple(facts.get(name, "") for facts in by_run)
        if len(set(values)) > 1:
            rows.append(ComparedRow(name, values))
    return rows


def _setting_facts(run: RecordedRun) -> list[Fact]:
    return [*training_facts(run), *solver_facts(run.run.solver.param)]


def _compared_charts(runs: dict[str, RecordedRun]) -> list[Chart]:
    tests = {name: curves_of_tests(run) for name, run in runs.items()}
    charts = list[Chart | None]()
    for output in dict.fromkeys(output for curves in tests.values() for output in curves):
        curves = {name: by_output[output] for name, by_output in tests.items() if output in by_output}
        draw = loss_chart if less_is_better(output) else score_chart
        charts.append(draw(f"Test {output}", curves))
        over_time = {name: RunCurves(runs[name].records).at_times(curve) for name, curve in curves.items()}
        charts.append(draw(f"Test {output} over time", over_time, "second"))
    charts.append(loss_chart("Training loss", {name: run.logged("train", "loss") for name, run in runs.items()}))
    charts.append(loss_chart("Learning rate", {name: run.logged("train", "rate") for name, run in runs.items()}))
    return [chart for chart in charts if chart is not None]
