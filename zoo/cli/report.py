"""Output of `zoo report`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from zoo.cli.console import table_console, table_of
from zoo.cli.output import counted, print_line
from zoo.logs.summary import RunSummary, WorkerSummary, WorkerTimes, sum_times
from zoo.report.report import RunReports
from zoo.requests.training import ReportRequest


def show_report(report: RunReports, request: ReportRequest) -> None:
    """Print a table for each run, and the path of the page."""
    for run in report.runs:
        _print_summary(run.run, run.summary)
        for figure in run.planned:
            ratio = "" if figure.ratio is None else f", {figure.ratio:.0%} of the plan"
            print_line(f"{figure.name.lower()}: planned {figure.planned}, measured {figure.measured}{ratio}")
    if not report.failed:
        print_line(f"page: {report.page}")


def _print_summary(run: str, summary: RunSummary) -> None:
    rate = summary.iterations_per_second
    by_worker = f"{rate / len(summary.workers):,.4g} iterations/s by each worker, " if len(summary.workers) > 1 else ""
    console = table_console()
    console.print_line(
        f"{run}: {counted(len(summary.workers), 'worker')}, {counted(summary.rounds, 'round')}, "
        f"iteration {summary.iteration:,} after {summary.seconds:,.1f} s: {by_worker}{rate:,.4g} iterations/s "
        "in total"
    )
    console.print_table(_table(summary.workers))
    for test in summary.tests:
        best, last = (f"{value:.4g} at iteration" for value in (test.best, test.last))
        console.print_line(
            f"test {test.name}: best {best} {test.best_iteration:,}, last {last} {test.last_iteration:,}"
        )


def _table(workers: Sequence[WorkerSummary]) -> Table:
    """Return a table of the workers, without empty columns."""
    rows = [_worker_cells(worker) for worker in workers]
    if len(workers) > 1:
        iterations = f"{sum(worker.iterations for worker in workers):,}"
        times = _time_cells(sum_times(worker.times for worker in workers))
        rows.append({**dict.fromkeys(rows[0], ""), "worker": "all", "iterations": iterations, **times})
    return table_of(rows, right=rows[0], optional=rows[0])


def _worker_cells(worker: WorkerSummary) -> dict[str, str]:
    named = {"worker": str(worker.rank), "host": worker.host}
    counted = {"rounds": f"{worker.rounds:,}", "iterations": f"{worker.iterations:,}"}
    overlapped = {name: _formatted(seconds, ",.2f") for name, seconds in vars(worker.beside).items()}
    exchanged = {"MB": _formatted(worker.bytes / 1e6, ",.1f")}
    distance = {
        "divergence": _formatted(worker.divergence_mean, ".4g"),
        "final": _formatted(worker.divergence_last, ".4g"),
    }
    return {**named, **counted, **_time_cells(worker.times), **overlapped, **exchanged, **distance}


def _time_cells(times: WorkerTimes) -> dict[str, str]:
    """Return the times in seconds with their shares."""
    total = times.total
    return {name: f"{value:,.2f} {value / total:4.0%}" if value >= 0.005 else "" for name, value in vars(times).items()}


def _formatted(value: float | None, form: str) -> str:
    return format(value, form) if value else ""
