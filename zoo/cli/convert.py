"""`zoo convert`: convert weights and nets from one format to another."""

from __future__ import annotations

from pathlib import Path

import click

from netdsl.formats import TENSOR_SUFFIXES
from zoo.cli import options, proofs
from zoo.cli.output import print_json
from zoo.cli.progress_bar import progress_bar


@click.command("convert", short_help="Convert weights and nets from one format to another.")
@click.argument("source", metavar="IN")
@click.argument("output", metavar="OUT")
@click.option("--net", metavar="NET", help="The net of weights whose tensors have torch's names.")
@click.option("--weights", multiple=True, metavar="FILE", help="The weights, where IN is a net without any.")
@click.option("--precision", type=click.Choice(options.PRECISIONS), help="The type of stored values.")
@options.allow_python
@options.net_dialect
@options.as_json
def command(
    source: str,
    output: str,
    net: str | None,
    weights: tuple[str, ...],
    precision: str | None,
    dialect: str | None,
    as_json: bool,
) -> None:
    """Convert IN to OUT, whose names end with their formats. Weights are .caffemodel, .h5, .safetensors, .npz, or .pt
    and .pth, which hold torch's state_dict; there a blob is called LAYER.INDEX. Tensors with other names are matched to
    the layers of a net by their names, their order or their shapes, and each match is printed. A net with its weights
    becomes .onnx or torch.export's .pt2; an .onnx model becomes a .prototxt with its .caffemodel, once both have given
    the same outputs.
    """
    if precision is not None and Path(output).suffix not in TENSOR_SUFFIXES:
        raise click.UsageError(f"--precision is for {', '.join(TENSOR_SUFFIXES)}; other files have float32")
    with progress_bar(doing="converting"):
        from netdsl.weights.tensor_files import Precision
        from zoo.converting import convert

        stored_type = Precision[precision.upper()] if precision else None
        converted = convert(source, output, net=net, weights=weights, precision=stored_type, dialect=dialect)
    if as_json:
        print_json(
            {"files": [str(path) for path in converted.files], **proofs.plain(converted.proofs, converted.names)}
        )
        return
    for line in [*proofs.lines(converted.proofs, converted.names), *(f"wrote {path}" for path in converted.files)]:
        click.echo(line)
