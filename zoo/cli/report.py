"""`zoo report`: report how a run with several workers went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from caffe_proto.errors import FileError
from netdsl.distributed.run_log import EVENTS, read_records
from netdsl.errors import DistributedError
from zoo.cli import options
from zoo.cli.console import table_console
from zoo.cli.output import print_json
from zoo.logs.gantt import draw_rounds
from zoo.logs.run_curves import displayed_losses, draw_curves
from zoo.logs.summary import RunSummary, WorkerSummary, WorkerTimes, sum_times, summarise


@click.command("report", short_help="Report how a run with several workers went.")
@click.argument("run", metavar="RUN")
@click.option("-o", "--output", metavar="FOLDER", help="Where the pictures go; by default RUN.")
@options.as_json
def command(run: str, output: str | None, as_json: bool) -> None:
    """Report how a run with several workers went, or goes: RUN is its folder. A table says what the workers spent their
    time on, in seconds and shares: waiting and exchanging are counted where they delayed a worker, while broadcast,
    reduce, prepare and push ran beside computing. Two pictures show what each worker did in the last rounds,
    rounds.png, and the course of tests, losses and times, curves.png.
    """
    records = read_records(Path(run))
    if not records:
        raise DistributedError(f"{run}: no round is complete yet; try again later")
    summary = summarise(records)
    if as_json:
        print_json({"run": run, **asdict(summary)})
    else:
        _print(run, summary)
    folder = Path(run if output is None else output)
    _create(folder)
    draw_rounds(records, folder / "rounds.png")
    draw_curves(records, displayed_losses(Path(run) / EVENTS), folder / "curves.png")


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"{folder}: can't be created: {problem.strerror}") from None


def _print(run: str, summary: RunSummary) -> None:
    rate = summary.iterations_per_second
    by_worker = f"{rate / len(summary.workers):,.4g} iterations/s by each worker, " if len(summary.workers) > 1 else ""
    console = table_console()
    console.print(
        f"{escape(run)}: {_counted(len(summary.workers), 'worker')}, {_counted(summary.rounds, 'round')}, "
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
    rows = [_row(worker) for worker in workers]
    if len(workers) > 1:
        iterations = f"{sum(worker.iterations for worker in workers):,}"
        rows.append(
            {"worker": "all", "iterations": iterations, **_times(sum_times(worker.times for worker in workers))}
        )
    heads = [head for head in rows[0] if any(row.get(head) for row in rows)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(head, justify="right", overflow="fold")
    for row in rows:
        table.add_row(*(row.get(head, "") for head in heads))
    return table


def _row(worker: WorkerSummary) -> dict[str, str]:
    named = {"worker": str(worker.rank), "host": escape(worker.host)}
    counted = {"rounds": f"{worker.rounds:,}", "iterations": f"{worker.iterations:,}"}
    beside = {name: _number(seconds, ",.2f") for name, seconds in vars(worker.beside).items()}
    exchanged = {"MB": _number(worker.bytes / 1e6, ",.1f")}
    distance = {"divergence": _number(worker.divergence_mean, ".4g"), "at last": _number(worker.divergence_last, ".4g")}
    return {**named, **counted, **_times(worker.times), **beside, **exchanged, **distance}


def _times(times: WorkerTimes) -> dict[str, str]:
    """Seconds with their shares."""
    total = times.total
    return {name: f"{value:,.2f} {value / total:4.0%}" if value >= 0.005 else "" for name, value in vars(times).items()}


def _number(value: float | None, form: str) -> str:
    return format(value, form) if value else ""


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
