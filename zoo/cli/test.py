"""`zoo test`: what a net with weights gives on its test data."""

from __future__ import annotations

import click

from netdsl.solver.events import Output, as_numbers
from zoo.cli import options
from zoo.cli.devices import devices_of
from zoo.cli.output import print_json
from zoo.testing import test


@click.command("test", short_help="What a net with weights gives on its test data.")
@click.argument("net", metavar="NET")
@click.option("--weights", multiple=True, metavar="FILE", required=True, help="Its weights, by layer names.")
@click.option("--iterations", type=click.IntRange(min=1), default=50, show_default=True, help="How many batches.")
@click.option("--device", metavar="NAME", help="cpu or cuda:0.")
@click.option("--level", type=int, default=0, help="The net's level, for include rules.")
@click.option("--stage", "stages", multiple=True, help="A stage that the net is in, for include rules.")
@options.as_json
def command(
    net: str,
    weights: tuple[str, ...],
    iterations: int,
    device: str | None,
    level: int,
    stages: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run a net in its TEST phase on the data that it names, and average its outputs over all batches."""
    loss, outputs = test(net, weights, iterations, device=devices_of(device)[0], level=level, stages=stages)
    if as_json:
        print_json({"loss": loss, "outputs": dict(as_numbers(outputs))})
        return
    for line in _lines(loss, outputs):
        click.echo(line)


def _lines(loss: float, outputs: tuple[Output, ...]) -> list[str]:
    weights = {output.name: output.loss_weight for output in outputs}
    found = [f"loss {loss:.6g}"] if any(weights.values()) else []
    return found + [f"{name} {value:.6g}" for name, value in as_numbers(outputs).items()]
