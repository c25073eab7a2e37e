"""`zoo predict`: a table with what a net predicts for each row."""

from __future__ import annotations

from typing import Any

import click

from netdsl.prediction.add_columns import ColumnNames
from zoo.cli import places
from zoo.cli.progress_bar import progress_bar
from zoo.predicting import PredictRequest, predict


@click.command("predict", short_help="A table with what a net predicts for each row.")
@places.tabled
def command(
    backend: str | None, master: str | None, workers: int | None, columns: tuple[str, ...], **what: Any
) -> None:
    """Add two columns to a table: `probability`, with those of all classes, and `prediction`, with the best class, or
    the number that a net with one output predicts. All other columns stay as they are.

    NET is any net: its data layers take the columns with the names of their tops, and a loss gives way to what it makes
    of predictions itself. `zoo data convert` makes a table of other data.
    """
    place = places.table_backend_of(backend, master, workers)
    names = ColumnNames({}, prediction="prediction", probability="probability")
    request = PredictRequest(names=names, columns=places.columns_of(columns), **what)
    predict(request, progress_bar, place)
    click.echo(f"wrote {request.output}")
