"""`zoo features`: a table with any blobs of a net for each row."""

from __future__ import annotations

from typing import Any

import click

from netdsl.solver.events import Event, Notice
from zoo.cli import options, table_options
from zoo.cli.output import print_json, progress_bar
from zoo.cli.training_display import tell


@click.command("features", short_help="Write a table with any blobs of a net for each row.")
@table_options.table_options
@options.as_json
@click.option("--blob", "blobs", multiple=True, required=True, metavar="NAME", help="A blob that becomes a column.")
def command(
    backend: str | None,
    master: str | None,
    workers: int | None,
    columns: tuple[str, ...],
    invalid: str,
    device: str | None,
    blobs: tuple[str, ...],
    as_json: bool,
    **what: Any,
) -> None:
    """Add columns to a table with blobs that a net computes for each row, such as the one before the last layer. A
    column has an array of the blob's values, or the value if there is but one. Only layers that the blobs depend on are
    run.
    """
    table_backend = table_options.table_backend_of(backend, master, workers)
    on_device = table_options.table_device_of(device, table_backend)
    blob_columns = table_options.columns_of(columns)
    from netdsl.prediction.add_columns import ColumnNames
    from netdsl.prediction.invalid_rows import InvalidRows
    from zoo.predicting import PredictRequest, predict

    names = ColumnNames({blob: blob for blob in blobs}, prediction="", probability="")
    request = PredictRequest(names=names, columns=blob_columns, invalid=InvalidRows(invalid), device=on_device, **what)
    data = predict(request, progress_bar, table_backend, listen=_tell_notices if as_json else tell)
    if as_json:
        from netdsl.model.data_shapes import plain_data

        print_json({"output": str(request.output), "columns": list(blobs), **plain_data(data)})
    else:
        click.echo(f"wrote {request.output}")


def _tell_notices(event: Event) -> None:
    if isinstance(event, Notice):
        tell(event)
