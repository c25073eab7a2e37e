"""`zoo time`: how long a net takes, layer by layer."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from caffe_proto.files import read_net
from caffe_proto.upgrade import upgrade_net
from netdsl.layer import Shape
from netdsl.net.graph import Phase
from netdsl.net.timing import LayerTime, NetTime, TimingSettings, time_net
from netdsl.solver.nets import split_names
from zoo.cli import options, shapes
from zoo.cli.devices import devices_of
from zoo.cli.output import print_json

_HEADS = ("layer", "type", "forward ms", "backward ms", "%", "GFLOP", "GFLOP/s", "MB")
_WORDS = 2  # columns of words; the others are numbers


@click.command("time", short_help="How long a net takes, layer by layer.")
@click.argument("net", metavar="NET")
@click.option("--weights", multiple=True, metavar="FILE", help="Its weights, by layer names; random ones if not given.")
@click.option("--phase", type=click.Choice([phase.name for phase in Phase]), default="TRAIN", show_default=True)
@click.option("--iterations", type=click.IntRange(min=1), default=10, show_default=True, help="After one to warm up.")
@click.option("--device", metavar="NAME", help="cpu or cuda:0.")
@click.option("--batch", type=click.IntRange(min=1), metavar="N", help="The batch of all inputs, instead of their own.")
@shapes.assume
@click.option("--level", type=int, default=0, help="The net's level, for include rules.")
@shapes.stages
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
    as_json: bool,
) -> None:
    """Time the layers of a net, each alone, and then the whole net, on random input: means over the iterations.

    GFLOP is what a forward pass computes in convolutions and matrix products, a multiplication and an addition counted
    as two; a layer without any counts one for each value of its largest blob. GFLOP/s is that by the forward time. MB
    are the bottoms, tops and weights, each counted once. The whole net may take less than its layers together, because
    some do their work along with the next one's.
    """
    message = upgrade_net(read_net(net, lenient=True).message).message
    where, names = devices_of(device)[0], list(split_names(weights))
    times = time_net(message, TimingSettings(Phase[phase], level, stages, assume, batch, names, where, iterations))
    shapes.complain_of_unused(assume, times.assumed)
    if as_json:
        print_json({"net": message.name, "phase": phase, "device": str(where), **_plain(times)})
        return
    _print([*_rows(times.layers), _row(_total(times), 1.0)])
    both = times.forward + times.backward
    click.echo(f"whole net: forward {times.forward:.3f} ms, backward {times.backward:.3f} ms, both {both:.3f} ms")
    for name, shape in times.assumed.items():
        click.echo(f"{name} taken as {'x'.join(map(str, shape))}")


def _plain(times: NetTime) -> dict[str, object]:
    return {
        "iterations": len(times.passes),
        "forward": times.forward,
        "backward": times.backward,
        "flops": times.flops,
        "assumed": times.assumed,
        "layers": [asdict(layer) for layer in times.layers],
    }


def _total(times: NetTime) -> LayerTime:
    forward, backward = sum(each.forward for each in times.layers), sum(each.backward for each in times.layers)
    return LayerTime("total", "", forward, backward, times.flops, sum(each.bytes for each in times.layers))


def _rows(layers: Sequence[LayerTime]) -> list[tuple[str, ...]]:
    total = sum(layer.forward + layer.backward for layer in layers)
    return [_row(layer, (layer.forward + layer.backward) / total) for layer in layers]


def _row(layer: LayerTime, share: float) -> tuple[str, ...]:
    speed = layer.flops / layer.forward / 1e6 if layer.forward else 0.0
    times = f"{layer.forward:.3f}", f"{layer.backward:.3f}", f"{100 * share:.1f}"
    return layer.name, layer.type, *times, f"{layer.flops / 1e9:.4f}", f"{speed:.2f}", f"{layer.bytes / 1e6:.2f}"


def _print(rows: list[tuple[str, ...]]) -> None:
    """A table for a terminal; elsewhere columns that other programs can cut."""
    if sys.stdout.isatty():
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for index, head in enumerate(_HEADS):
            table.add_column(head, justify="left" if index < _WORDS else "right", overflow="fold")
        for row in rows:
            table.add_row(*map(escape, row))
        Console(emoji=False, highlight=False).print(table)
        return
    lines = [_HEADS, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.ljust(width) if index < _WORDS else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())
