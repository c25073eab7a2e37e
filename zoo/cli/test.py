"""`zoo test`: the loss, the outputs and the scores of a net on test data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from netdsl.solver.events import BatchTested, Event, Notice, Output, WeightsLoaded, as_numbers
from zoo.cli import options, shapes, table_options
from zoo.cli.console import table_console
from zoo.cli.output import print_json, progress_bar
from zoo.cli.training_display import tell

if TYPE_CHECKING:
    from zoo.score_tables import ScoreTable


@click.command("test", short_help="Test a net with weights on its test data.")
@click.argument("net", metavar="NET")
@click.option("--weights", multiple=True, metavar="FILE", help="Its weights, if NET is a net without any.")
@click.option("--data", metavar="SOURCE", help=options.DATA_HELP)
@table_options.columns
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"The number of batches; by default {options.TEST_BATCHES}, or a table's rows once.",
)
@click.option("--device", metavar="NAME", help="cpu or cuda:0.")
@shapes.level
@shapes.stages
@options.allow_python
@options.net_dialect
@table_options.backend_options
@options.as_json
def command(
    net: str,
    weights: tuple[str, ...],
    data: str | None,
    columns: tuple[str, ...],
    iterations: int | None,
    device: str | None,
    level: int,
    stages: tuple[str, ...],
    dialect: str | None,
    backend: str | None,
    master: str | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Run a net in its TEST phase on the data that it names, or on others, and average its outputs over all batches.

    The rows of a table, parquet:PATH or arrow:PATH, are all taken once unless --iterations says how many batches.
    Batches then count by their numbers of rows, so a last one that isn't full counts less, and means over rows, such as
    accuracy and loss, don't depend on how tasks of Spark divide the table. Outputs with a value for each row have no
    mean over batches of different sizes, and are left out.

    A net whose layers judge detections or compare the classes of pixels is scored over the whole set too, with a table
    of classes: by mean average precision as VOC 2007, VOC 2010 and COCO have it, or by accuracy and intersection over
    union. One that writes captions is scored by BLEU on --data captions:FILE.json?images=FOLDER.
    """
    table_backend = table_options.table_backend_of(backend, master, workers)
    if columns and data is None:
        raise click.UsageError("--column is about the table that --data names.")
    blob_columns = table_options.columns_of(columns)
    events: list[Event] = []
    rows = data is not None and iterations is None  # of a table, which are tested in batches that nobody tells of
    with progress_bar(None if rows else iterations or options.TEST_BATCHES, "testing") as advance:
        from zoo.testing import TestRequest, test

        def listen(event: Event) -> None:
            events.append(event)
            if isinstance(event, BatchTested):
                advance()
            elif isinstance(event, Notice) or not as_json:
                tell(event)

        request = TestRequest(net, weights, data, blob_columns, iterations, level, stages, dialect)
        result = test(
            request, device=table_options.table_device_of(device, table_backend), backend=table_backend, listen=listen
        )
    if as_json:
        from netdsl.model.data_shapes import plain_data

        report = next(str(event.report) for event in events if isinstance(event, WeightsLoaded))
        scores = {"scores": [_plain_scores(table) for table in result.tables]} if result.tables else {}
        known = {"weights": report, **plain_data(result.data)}
        print_json({"loss": result.loss, "outputs": dict(as_numbers(result.outputs)), **scores, **known})
        return
    for line in _output_lines(result.loss, result.outputs):
        click.echo(line)
    for table in result.tables:
        _print_scores(table)


def _output_lines(loss: float | None, outputs: tuple[Output, ...]) -> list[str]:
    """The net's loss, and a line for each output. An output that is called loss, and is all of it, isn't repeated."""
    values = as_numbers(outputs)
    lines = [f"{name} {value:.6g}" for name, value in values.items()]
    if (
        loss is None
        or not any(output.loss_weight for output in outputs)
        or math.isclose(values.get("loss", math.nan), loss, rel_tol=1e-5)
    ):
        return lines
    return [f"{'total loss' if 'loss' in values else 'loss'} {loss:.6g}", *lines]


def _plain_scores(table: ScoreTable) -> dict[str, object]:
    """The scores of a blob as JSON."""
    classes = [
        {"label": each.label, "name": each.name, table.counted: each.count, "scores": dict(each.scores)}
        for each in table.classes
    ]
    return {"blob": table.blob, "task": table.task.value, "scores": dict(table.totals), "classes": classes}


def _print_scores(scores: ScoreTable) -> None:
    """Print the scores of the whole set, and a table of its classes."""
    click.echo(f"{scores.task.value} ({scores.blob}): {_counted_classes(scores)}")
    for name, value in scores.totals.items():
        if value is not None:
            click.echo(f"{name} {value:.6g}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("class", overflow="fold")
    for head in (scores.counted, *scores.score_names):
        table.add_column(head, justify="right")
    for each in scores.classes:
        values = ["" if value is None else f"{value:.4f}" for value in each.scores.values()]
        table.add_row(escape(each.name), f"{each.count:,}", *values)
    table_console().print(table)


def _counted_classes(scores: ScoreTable) -> str:
    there = [each.count for each in scores.classes if each.count]
    return f"{sum(there):,} {scores.counted} of {len(there):,} class{'' if len(there) == 1 else 'es'}"
