"""`zoo features`: a table with any blobs of a net for each row."""

from __future__ import annotations

from typing import Any

import click

from netdsl.prediction.add_columns import ColumnNames
from zoo.cli import places
from zoo.cli.progress_bar import progress_bar
from zoo.predicting import PredictRequest, predict


@click.command("features", short_help="A table with any blobs of a net for each row.")
@places.tabled
@click.option("--blob", "blobs", multiple=True, required=True, metavar="NAME", help="A blob that becomes a column.")
def command(
    backend: str | None,
    master: str | None,
    workers: int | None,
    columns: tuple[str, ...],
    blobs: tuple[str, ...],
    **what: Any,
) -> None:
    """Add columns to a table with what a net makes of each row on its way, such as the blob before the last layer: an
    array of a blob's values, or the value if there is but one. Only the layers that this needs are run.
    """
    place = places.table_backend_of(backend, master, workers)
    names = ColumnNames({blob: blob for blob in blobs}, prediction="", probability="")
    request = PredictRequest(names=names, columns=places.columns_of(columns), **what)
    predict(request, progress_bar, place)
    click.echo(f"wrote {request.output}")
