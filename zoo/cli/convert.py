"""`zoo convert`: weights and nets from one format to another."""

from __future__ import annotations

from pathlib import Path

import click

from netdsl.formats import TENSOR_SUFFIXES
from netdsl.weights.tensor_files import Precision
from zoo.cli import options, proofs
from zoo.cli.output import print_json
from zoo.converting import convert


@click.command("convert", short_help="Weights and nets from one format to another.")
@click.argument("source", metavar="IN")
@click.argument("output", metavar="OUT")
@click.option("--net", metavar="NET", help="The net that weights with names of torch's are for.")
@click.option("--weights", multiple=True, metavar="FILE", help="The weights, where IN is a net without any.")
@click.option("--precision", type=click.Choice([each.name.lower() for each in Precision]), help="How values are kept.")
@options.as_json
def command(
    source: str, output: str, net: str | None, weights: tuple[str, ...], precision: str | None, as_json: bool
) -> None:
    """Convert IN to OUT, whose names say what they are. Weights are .caffemodel, .h5, .safetensors, .npz, or .pt and
    .pth, which hold torch's state_dict; there a blob is called LAYER.INDEX. Tensors with other names are brought to the
    layers of a net by their names, their order or their shapes, and which went where is told. A net with its weights
    becomes .onnx or torch.export's .pt2; an .onnx model becomes a .prototxt with its .caffemodel, after both gave the
    same outputs.
    """
    kind = Precision[precision.upper()] if precision else None
    if kind is not None and Path(output).suffix not in TENSOR_SUFFIXES:
        raise click.UsageError(f"--precision is for {', '.join(TENSOR_SUFFIXES)}; other files keep float32")
    done = convert(source, output, net=net, weights=weights, precision=kind)
    if as_json:
        print_json({"files": [str(path) for path in done.files], **proofs.plain(done.proofs, done.names)})
        return
    for line in [*proofs.lines(done.proofs, done.names), *(f"wrote {path}" for path in done.files)]:
        click.echo(line)
