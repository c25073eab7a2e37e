"""`zoo test`: what a net with weights gives on its test data."""

from __future__ import annotations

import click

from netdsl.solver.events import Output, as_numbers
from zoo.cli import options, places
from zoo.cli.devices import devices_of
from zoo.cli.output import print_json
from zoo.testing import BATCHES, TestRequest, test


@click.command("test", short_help="What a net with weights gives on its test data.")
@click.argument("net", metavar="NET")
@click.option("--weights", multiple=True, metavar="FILE", required=True, help="Its weights, by layer names.")
@click.option("--data", metavar="SOURCE", help="What the net reads instead: digits, mnist:FOLDER, parquet:PATH, ...")
@places.columns
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"How many batches: {BATCHES}, or a table's rows once.",
)
@click.option("--device", metavar="NAME", help="cpu or cuda:0.")
@click.option("--level", type=int, default=0, help="The net's level, for include rules.")
@click.option("--stage", "stages", multiple=True, help="A stage that the net is in, for include rules.")
@places.placed
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
    backend: str | None,
    master: str | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Run a net in its TEST phase on the data that it names, or on others, and average its outputs over all batches.

    The rows of a table, parquet:PATH or arrow:PATH, are all taken once unless --iterations says how many batches. What
    a batch gives then counts as often as it has rows, so a last one that isn't full counts less, and for means over
    rows, as accuracy and loss are, it doesn't matter how tasks of Spark divide the table. What has a value for each row
    has no mean over batches of different sizes, and is left out.
    """
    place = places.table_backend_of(backend, master, workers)
    if columns and data is None:
        raise click.UsageError("--column is about the table that --data names.")
    request = TestRequest(net, weights, data, places.columns_of(columns), iterations, level, stages)
    loss, outputs = test(request, device=devices_of(device)[0], backend=place)
    if as_json:
        print_json({"loss": loss, "outputs": dict(as_numbers(outputs))})
        return
    for line in _lines(loss, outputs):
        click.echo(line)


def _lines(loss: float, outputs: tuple[Output, ...]) -> list[str]:
    weights = {output.name: output.loss_weight for output in outputs}
    found = [f"loss {loss:.6g}"] if any(weights.values()) else []
    return found + [f"{name} {value:.6g}" for name, value in as_numbers(outputs).items()]
