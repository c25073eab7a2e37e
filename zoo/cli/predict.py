"""`zoo predict`: a table with a net's prediction for each row."""

from __future__ import annotations

from typing import Any

import click

from zoo.cli import table_options
from zoo.cli.progress_bar import progress_bar
from zoo.cli.training_display import tell


@click.command("predict", short_help="Write a table with a net's prediction for each row.")
@table_options.table_options
def command(
    backend: str | None, master: str | None, workers: int | None, columns: tuple[str, ...], invalid: str, **what: Any
) -> None:
    """Add two columns to a table: `probability`, with those of all classes, and `prediction`, with the best class, or
    the number that a net with one output predicts. All other columns stay as they are. Where the names of the classes
    lie beside the net, in NAME_labels.txt or labels.txt, a third one, `predicted_class`, has the best class's name.

    NET is any net: its data layers take the columns with the names of their tops, and losses become their predictions.
    `zoo data convert` makes a table of other data.
    """
    table_backend = table_options.table_backend_of(backend, master, workers)
    blob_columns = table_options.columns_of(columns)
    from netdsl.prediction.add_columns import ColumnNames
    from netdsl.prediction.invalid_rows import InvalidRows
    from zoo.predicting import PredictRequest, predict

    names = ColumnNames({}, "prediction", "probability", predicted_class="predicted_class")
    request = PredictRequest(names=names, columns=blob_columns, invalid=InvalidRows(invalid), **what)
    predict(request, progress_bar, table_backend, listen=tell)
    click.echo(f"wrote {request.output}")
