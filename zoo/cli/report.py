"""`zoo report`: report how a run went, as a table here and as a page to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from zoo.cli import options
from zoo.cli.console import table_console
from zoo.cli.output import complain, counted, print_json
from zoo.logs.summary import RunSummary, WorkerSummary, WorkerTimes, sum_times

if TYPE_CHECKING:
    from zoo.report.recorded_run import RecordedRun

_ITEMS = 2000  # as zoo.report.contents has it, which needs torch


@click.command("report", short_help="Report how a run went: a table, and a page to look at.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", help="Where the page goes, a file ending in .html or a folder.")
@click.option(
    "--items",
    type=click.IntRange(min=0),
    default=_ITEMS,
    show_default=True,
    metavar="N",
    help="Items of the test data that are predicted; 0 runs nothing of the net.",
)
@options.allow_python
@options.net_dialect
@options.as_json
def command(runs: tuple[str, ...], output: str | None, items: int, as_json: bool) -> None:
    """Report how a run went, or goes: RUN is its folder. A table says what the workers spent their time on, in seconds
    and shares: waiting and exchanging are counted where they delayed a worker, while broadcast, reduce, prepare and
    push ran beside computing. A page, RUN/report.html, has everything else: the curves, what the model confuses and its
    surest mistakes, the net as a graph, its first filters and slowest layers, and what each worker did in the last
    rounds. It is one file that any browser shows, without a network.

    Several runs are compared: a page, comparison.html, has their results, the settings in which they differ, and their
    curves over each other.
    """
    from zoo.report.page import page_path, write_comparison, write_report
    from zoo.report.recorded_run import read_run

    folders = [Path(run) for run in runs]
    recorded = [read_run(folder) for folder in folders]
    if as_json:
        summaries = [_plain_report(run, found) for run, found in zip(runs, recorded, strict=True)]
        print_json(summaries[0] if len(summaries) == 1 else summaries)
    else:
        for run, found in zip(runs, recorded, strict=True):
            _print_summary(run, found.summary)
            _print_planned(found)
    _complain_of_runs(recorded)
    page = page_path(folders, output)
    if len(recorded) == 1:
        write_report(recorded[0], page, items)
    else:
        write_comparison(recorded, page)
    if not as_json:
        click.echo(f"page: {page}")


def _plain_report(run: str, recorded: RecordedRun) -> dict[str, object]:
    from zoo.report.facts import planned_figures

    planned = {"planned": [asdict(figure) for figure in planned_figures(recorded)]} if recorded.plan else {}
    return {"run": run, **asdict(recorded.summary), **planned}


def _print_planned(recorded: RecordedRun) -> None:
    from zoo.report.facts import planned_figures

    for figure in planned_figures(recorded):
        ratio = "" if figure.ratio is None else f", {figure.ratio:.0%} of the plan"
        click.echo(f"{figure.name.lower()}: planned {figure.planned}, measured {figure.measured}{ratio}")


def _complain_of_runs(runs: Sequence[RecordedRun]) -> None:
    for run in runs:
        for note in run.notes:
            complain(note)


def _print_summary(run: str, summary: RunSummary) -> None:
    rate = summary.iterations_per_second
    by_worker = f"{rate / len(summary.workers):,.4g} iterations/s by each worker, " if len(summary.workers) > 1 else ""
    console = table_console()
    console.print(
        f"{escape(run)}: {counted(len(summary.workers), 'worker')}, {counted(summary.rounds, 'round')}, "
        f"iteration {summary.iteration:,} after {summary.seconds:,.1f} s: {by_worker}{rate:,.4g} iterations/s in all"
    )
    console.print(_table(summary.workers))
    for test in summary.tests:
        best, last = (f"{value:.4g} at iteration" for value in (test.best, test.last))
        console.print(
            f"test {escape(test.name)}: best {best} {test.best_iteration:,}, last {last} {test.last_iteration:,}"
        )


def _table(workers: Sequence[WorkerSummary]) -> Table:
    """The table of the workers, without empty columns."""
    rows = [_worker_cells(worker) for worker in workers]
    if len(workers) > 1:
        iterations = f"{sum(worker.iterations for worker in workers):,}"
        rows.append(
            {"worker": "all", "iterations": iterations, **_time_cells(sum_times(worker.times for worker in workers))}
        )
    heads = [head for head in rows[0] if any(row.get(head) for row in rows)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(head, justify="right", overflow="fold")
    for row in rows:
        table.add_row(*(row.get(head, "") for head in heads))
    return table


def _worker_cells(worker: WorkerSummary) -> dict[str, str]:
    named = {"worker": str(worker.rank), "host": escape(worker.host)}
    counted = {"rounds": f"{worker.rounds:,}", "iterations": f"{worker.iterations:,}"}
    beside = {name: _formatted(seconds, ",.2f") for name, seconds in vars(worker.beside).items()}
    exchanged = {"MB": _formatted(worker.bytes / 1e6, ",.1f")}
    distance = {
        "divergence": _formatted(worker.divergence_mean, ".4g"),
        "at last": _formatted(worker.divergence_last, ".4g"),
    }
    return {**named, **counted, **_time_cells(worker.times), **beside, **exchanged, **distance}


def _time_cells(times: WorkerTimes) -> dict[str, str]:
    """Seconds with their shares."""
    total = times.total
    return {name: f"{value:,.2f} {value / total:4.0%}" if value >= 0.005 else "" for name, value in vars(times).items()}


def _formatted(value: float | None, form: str) -> str:
    return format(value, form) if value else ""
