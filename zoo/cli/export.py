"""`zoo export`: a net with its weights, ready to deploy, in another format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from converters.rewriting import Rewrites
from netdsl.layer import Shape
from netdsl.weights.tensor_files import Precision
from zoo.cli import options, proofs, shapes
from zoo.cli.output import print_json
from zoo.exporting import Export, ExportedFiles, ExportTarget, export

_HALVES = [each.name.lower() for each in Precision if each is not Precision.FLOAT32]


def _numbers(ctx: click.Context, parameter: click.Parameter, text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.split(",")) if text else ()
    except ValueError:
        raise click.BadParameter(f"'{text}' isn't like 104,117,123") from None


@click.command("export", short_help="A net ready to deploy, for Caffe, ONNX or torch.")
@click.argument("net", metavar="NET")
@click.option("--weights", multiple=True, metavar="FILE", help="Its weights, in any format that has some.")
@click.option("--to", "target", type=click.Choice([each.value for each in ExportTarget]), required=True)
@click.option("-o", "--output", metavar="PATH", help="The folder for Caffe's files, or the file.")
@click.option("--verify/--no-verify", default=True, help="Prove that it computes the same.  [default: verify]")
@click.option("--tolerance", type=click.FloatRange(min=0), metavar="T", help="Of all proofs; each has its own without.")
@click.option("--opset", type=int, metavar="N", help="ONNX's; by default the newest that runs.")
@click.option("--batch", type=click.IntRange(min=1), metavar="N", help="The batch of all inputs; 1 if nothing says it.")
@shapes.assume
@shapes.stages
@click.option("--train-val", is_flag=True, help="Also write the net that was trained, to Caffe.")
@click.option("--solver", metavar="FILE", help="Also write this solver and that net, to Caffe.")
@click.option("--fold", is_flag=True, help="Fold BatchNorm and Scale into the layers before them.")
@click.option("--fully-convolutional", is_flag=True, help="Make fully connected layers convolutions.")
@click.option("--rgb", is_flag=True, help="Take images in RGB, where the net was made for BGR.")
@click.option("--mean", callback=_numbers, metavar="B,G,R", help="Subtract this mean inside the net.")
@click.option("--precision", type=click.Choice(_HALVES), help="Round the weights; they are kept as float32.")
@click.option("--prune-to", metavar="LAYER", help="End the net at this layer.")
@options.as_json
def command(
    net: str,
    weights: tuple[str, ...],
    target: str,
    output: str | None,
    verify: bool,
    tolerance: float | None,
    opset: int | None,
    batch: int | None,
    assume: Mapping[str, Shape],
    stages: tuple[str, ...],
    train_val: bool,
    solver: str | None,
    fold: bool,
    fully_convolutional: bool,
    rgb: bool,
    mean: tuple[float, ...],
    precision: str | None,
    prune_to: str | None,
    as_json: bool,
) -> None:
    """Write a net as one deploys it: data layers become inputs, losses become what they predict, and what only
    training needs goes. Rewrites are done as one asks for them.

    Each step, and what is written, is run beside what was before. How far outputs are from what they were is told in
    parts of their spread; beyond the tolerance nothing is written.
    """
    kind = Precision[precision.upper()] if precision else None
    rewrites = Rewrites(prune_to, fold, rgb, mean, fully_convolutional, kind)
    path, where = Path(output) if output else None, ExportTarget(target)
    wanted = Export(
        net, weights, where, path, assume, batch, stages, rewrites, verify, tolerance, opset, train_val, solver
    )
    _check(wanted)
    _show(export(wanted), as_json)


def _check(wanted: Export) -> None:
    """A usage error if options don't go together."""
    if wanted.target is not ExportTarget.CAFFE and (wanted.train_val or wanted.solver):
        raise click.UsageError("--train-val and --solver are for --to caffe")
    if wanted.target is not ExportTarget.ONNX and wanted.opset is not None:
        raise click.UsageError("--opset is for --to onnx")
    if not wanted.verified and wanted.tolerance is not None:
        raise click.UsageError("--tolerance is for what is verified; leave --no-verify out")


def _show(done: ExportedFiles, as_json: bool) -> None:
    if as_json:
        files = [str(path) for path in done.files]
        print_json({"files": files, "inputs": done.inputs, **proofs.plain(done.proofs, done.names)})
        return
    inputs = [f"input {name} {'x'.join(map(str, shape))}" for name, shape in done.inputs.items()]
    for line in [*inputs, *proofs.lines(done.proofs, done.names), *(f"wrote {path}" for path in done.files)]:
        click.echo(line)
