"""`zoo time`: measure how long a net takes, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from netdsl.net.graph import Phase
from zoo.cli import options, shapes
from zoo.cli.console import table_console
from zoo.cli.devices import devices_of
from zoo.cli.output import print_json, progress_bar, stdout_is_terminal
from zoo.cli.shapes import Shape

if TYPE_CHECKING:
    from netdsl.planner.timing import LayerTime, NetTime

_PHASES = click.Choice([phase.name for phase in Phase], case_sensitive=False)
_HEADS = ("layer", "type", "forward ms", "backward ms", "%", "GFLOP", "GFLOP/s", "MB")
_TEXT_COLUMNS = 2  # the others are numbers


@click.command("time", short_help="Measure how long a net takes, layer by layer.")
@click.argument("net", metavar="NET")
@click.option("--weights", multiple=True, metavar="FILE", help="Its weights, by layer names; by default random ones.")
@click.option("--phase", type=_PHASES, default="TRAIN", show_default=True, help="The phase that the net is in.")
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    metavar="N",
    default=10,
    show_default=True,
    help="Measured iterations, after a first one that isn't.",
)
@click.option("--device", metavar="NAME", help="cpu or cuda:0.")
@click.option(
    "--batch", type=click.IntRange(min=1), metavar="N", help="The batch of all inputs, in place of their own."
)
@shapes.assume
@shapes.level
@shapes.stages
@options.allow_python
@options.net_dialect
@options.as_json
def command(
    net: str,
    weights: tuple[str, ...],
    phase: str,
    iterations: int,
    device: str | None,
    batch: int | None,
    assume: Mapping[str, Shape],
    level: int,
    stages: tuple[str, ...],
    dialect: str | None,
    as_json: bool,
) -> None:
    """Measure the time of each layer of a net alone, and then of the whole net, on random input: means over the
    iterations.

    GFLOP counts the multiplications and additions of a forward pass in convolutions and matrix products; a layer
    without any counts one for each value of its largest blob. GFLOP/s is GFLOP divided by the forward time. MB is the
    size of bottoms, tops and weights, each counted once. The whole net may take less time than its layers together,
    because some layers are computed together with the next one.
    """
    with progress_bar(2 * (iterations + 1), "measuring") as advance:
        from netdsl.model.opening import open_model
        from netdsl.planner.timing import time_net
        from netdsl.solver.settings import split_names

        model = open_model(net, split_names(weights), dialect=dialect, shapes=assume, level=level, stages=stages)
        torch_device = devices_of(device)[0]
        times = time_net(model, Phase[phase], batch=batch, device=torch_device, iterations=iterations, done=advance)
    shapes.complain_of_unused(assume, times.data)
    if as_json:
        print_json({"net": model.net.name, "phase": phase, "device": str(torch_device), **_plain_times(times)})
        return
    _print_times([*_layer_rows(times.layers), _layer_row(_total_of_layers(times), 1.0)])
    both = times.forward + times.backward
    click.echo(f"whole net: forward {times.forward:.3f} ms, backward {times.backward:.3f} ms, both {both:.3f} ms")


def _plain_times(times: NetTime) -> dict[str, object]:
    from netdsl.model.data_shapes import plain_data

    return {
        "iterations": len(times.passes),
        "forward": times.forward,
        "backward": times.backward,
        "flops": times.flops,
        **plain_data(times.data),
        "layers": [asdict(layer) for layer in times.layers],
    }


def _total_of_layers(times: NetTime) -> LayerTime:
    forward, backward = sum(layer.forward for layer in times.layers), sum(layer.backward for layer in times.layers)
    from netdsl.planner.timing import LayerTime

    return LayerTime("total", "", forward, backward, times.flops, sum(layer.bytes for layer in times.layers))


def _layer_rows(layers: Sequence[LayerTime]) -> list[tuple[str, ...]]:
    total = sum(layer.forward + layer.backward for layer in layers)
    return [_layer_row(layer, (layer.forward + layer.backward) / total) for layer in layers]


def _layer_row(layer: LayerTime, share: float) -> tuple[str, ...]:
    speed = layer.flops / layer.forward / 1e6 if layer.forward else 0.0
    times = f"{layer.forward:.3f}", f"{layer.backward:.3f}", f"{100 * share:.1f}"
    return layer.name, layer.type, *times, f"{layer.flops / 1e9:.4f}", f"{speed:.2f}", f"{layer.bytes / 1e6:.2f}"


def _print_times(rows: list[tuple[str, ...]]) -> None:
    """Print a table to a terminal, or aligned columns that programs can parse."""
    if stdout_is_terminal():
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for index, head in enumerate(_HEADS):
            table.add_column(head, justify="left" if index < _TEXT_COLUMNS else "right", overflow="fold")
        for row in rows:
            table.add_row(*map(escape, row))
        table_console().print(table)
        return
    lines = [_HEADS, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.ljust(width) if index < _TEXT_COLUMNS else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())
