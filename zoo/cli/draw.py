"""`zoo draw`: draw a net as a graph of boxes."""

from __future__ import annotations

from pathlib import Path

import click

from zoo.cli import options
from zoo.cli.output import complain

_PHASES = click.Choice(["TEST", "TRAIN"])
_DIRECTIONS = click.Choice(["down", "right"])


@click.command("draw", short_help="Draw a net as a graph, SVG or PNG.")
@click.argument("net", metavar="NET")
@click.option("-o", "--output", metavar="FILE", help="An .svg or .png to write; by default NET.svg, in this folder.")
@click.option("--phase", type=_PHASES, help="The phase that is drawn; by default TEST, or TRAIN if it has no other.")
@click.option("--direction", type=_DIRECTIONS, default="down", show_default=True, help="The way that data take.")
@options.allow_python
@options.net_dialect
def command(net: str, output: str | None, phase: str | None, direction: str, dialect: str | None) -> None:
    """Draw a net as a graph: a box for each layer with its settings and the shapes of its tops, coloured by what the
    layer does; the legend says which. Layers that could work in place, such as ReLU and BatchNorm, are written into the
    box of the layer that they follow, unless somebody else needs what was there before.

    A picture with thousands of layers is best as SVG, which any browser shows and searches.
    """
    path = Path(f"{Path(net).stem}.svg" if output is None else output)
    from zoo.drawing.draw import draw_net, format_of

    picture_format = format_of(path)
    drawn = draw_net(net, path, picture_format, phase=phase, direction=direction, dialect=dialect)
    for note in drawn.notes:
        complain(note)
    click.echo(f"{path}: {drawn.text}")
