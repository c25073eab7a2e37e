"""`zoo propose`: regions of images that a net proposes, for another net to learn from."""

from __future__ import annotations

from dataclasses import asdict

import click

from netdsl.solver.events import Event
from zoo.cli import options
from zoo.cli.devices import devices_of
from zoo.cli.output import print_json, progress_bar
from zoo.cli.training_display import tell


@click.command("propose", short_help="Write the regions that a net proposes for images.")
@click.argument("net", metavar="NET")
@click.option("--weights", multiple=True, metavar="FILE", help="Its weights, if NET is a net without any.")
@click.option("--data", required=True, metavar="SET", help="The images: voc:FOLDER?set=NAME, coco:FILE.json, ...")
@click.option("-o", "--output", required=True, metavar="FILE.npz", help="The file to write.")
@click.option(
    "--most", type=click.IntRange(min=1), default=2000, show_default=True, metavar="N", help="Regions of an image."
)
@click.option(
    "--side",
    type=click.IntRange(min=1),
    default=600,
    show_default=True,
    metavar="N",
    help="The length of an image's shorter side.",
)
@click.option(
    "--longest",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="The most that its longer side gets.",
)
@click.option("--device", metavar="NAME", help="cpu or cuda:0.")
@options.allow_python
@options.net_dialect
@options.as_json
def command(
    net: str,
    weights: tuple[str, ...],
    data: str,
    output: str,
    most: int,
    side: int,
    longest: int,
    device: str | None,
    as_json: bool,
) -> None:
    """Write the regions that a net with a region proposal network finds in all images of a data set, the best first.

    A Fast R-CNN learns from them: `zoo train --data 'voc:FOLDER?set=NAME&proposals=FILE.npz'`.
    """
    on_device = devices_of(device)[0]
    from netdsl.data.transforms.short_side import ShortSide
    from zoo.proposing import ProposeRequest, propose

    def listen(event: Event) -> None:
        if not as_json:
            tell(event)

    request = ProposeRequest(net, data, output, weights, most, ShortSide(side, longest), on_device)
    proposed = propose(request, lambda total: progress_bar(total, "proposing"), listen)
    if as_json:
        print_json({"output": output, **asdict(proposed)})
    else:
        click.echo(f"wrote {output}: {proposed.regions} regions of {proposed.images} images")
