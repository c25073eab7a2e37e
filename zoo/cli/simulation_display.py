"""What `zoo simulate` shows: how many trainings are done, and a table in the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from zoo.cli.output import print_json

if TYPE_CHECKING:
    from zoo.simulating.figures import DrawnFigure, Table
    from zoo.simulating.trials import ProgressCallback


@contextmanager
def trainings_bar(label: str) -> Iterator[ProgressCallback]:
    """A function that shows how many trainings are done: by a bar on a terminal, elsewhere by a line for each tenth."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _progress_lines(label)
        return
    columns = TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _progress_lines(label: str) -> ProgressCallback:
    shown = -1

    def show(done: int, total: int) -> None:
        nonlocal shown
        if 10 * done // total > shown:
            shown = 10 * done // total
            click.echo(f"{label}: {done} of {total} trainings done", err=True)

    return show


def print_figure(figure: DrawnFigure, *, as_json: bool) -> None:
    """Print the table of a figure, or its rows as JSON with the files that were written."""
    if not as_json:
        print_table(figure.table)
        return
    heads, *rows = figure.table
    cells = [dict(zip(heads, map(_cell, row), strict=True)) for row in rows]
    print_json({"files": [str(file) for file in figure.files], "rows": cells})


def _cell(text: str) -> str | float:
    """A table's cell: a number, if it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def print_table(table: Table) -> None:
    """Print a table in columns."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        click.echo("  ".join(cells).rstrip())
