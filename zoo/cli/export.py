"""`zoo export` and `zoo convert`: write nets and weights for others, each proved to be the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netdsl.model.formats import TENSOR_SUFFIXES
from zoo.cli import options, shapes
from zoo.cli.output import print_json, progress_bar
from zoo.cli.shapes import Shape

if TYPE_CHECKING:
    from converters.rewriting import Proof
    from netdsl.model.weights.torch_names import TensorMatch
    from zoo.exporting import ExportedFiles

_PRECISIONS = [name for name in options.PRECISIONS if name != "float32"]


def _mean_values(ctx: click.Context, parameter: click.Parameter, text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.split(",")) if text else ()
    except ValueError:
        raise click.BadParameter(f"'{text}' isn't like 104,117,123") from None


@click.command("export", short_help="Export a net ready to deploy.")
@click.argument("net", metavar="NET")
@click.option("--weights", multiple=True, metavar="FILE", help="Its weights, in any format that has some.")
@click.option("--to", "target", type=click.Choice(options.EXPORT_TARGETS), required=True, help="What to write it for.")
@click.option("-o", "--output", metavar="PATH", help="The folder for Caffe's files, or the file.")
@click.option("--verify/--no-verify", default=True, help="Prove that it computes the same.  [default: verify]")
@click.option(
    "--tolerance", type=click.FloatRange(min=0), metavar="T", help="The tolerance of all proofs, in place of their own."
)
@click.option("--opset", type=int, metavar="N", help="The opset of ONNX; by default the newest one that runs.")
@click.option(
    "--batch", type=click.IntRange(min=1), metavar="N", help="The batch of all inputs; 1 if the net doesn't say it."
)
@shapes.assume
@shapes.stages
@click.option("--train-val", is_flag=True, help="Also write the net that was trained, to Caffe.")
@click.option("--solver", metavar="FILE", help="Also write this solver and that net, to Caffe.")
@click.option("--data-lmdb", is_flag=True, help="Also write the data that Caffe can't read, as LMDB.")
@click.option("--fold", is_flag=True, help="Fold BatchNorm and Scale into the layers before them.")
@click.option("--fully-convolutional", is_flag=True, help="Make fully connected layers convolutions.")
@click.option("--rgb", is_flag=True, help="Take images in RGB, where the net was made for BGR.")
@click.option("--mean", callback=_mean_values, metavar="B,G,R", help="Subtract this mean inside the net.")
@click.option("--precision", type=click.Choice(_PRECISIONS), help="Round the weights; they are stored as float32.")
@click.option("--prune-to", metavar="LAYER", help="End the net at this layer.")
@options.allow_python
@options.net_dialect
@options.as_json
def export_command(
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
    data_lmdb: bool,
    fold: bool,
    fully_convolutional: bool,
    rgb: bool,
    mean: tuple[float, ...],
    precision: str | None,
    prune_to: str | None,
    dialect: str | None,
    as_json: bool,
) -> None:
    """Write a net as it is deployed: data layers become inputs, losses become the predictions that they are made for,
    and layers that only training needs are removed. Other options rewrite the net further.

    After each step, and after writing, the net is run beside the one before. The differences of their outputs are
    printed relative to the outputs' spread; beyond the tolerance nothing is written.

    A net to train can have settings and sources of data that BVLC's Caffe doesn't know. They are named; with
    --data-lmdb its data are written beside it, prepared as far as Caffe can't do it.
    """
    _check_options(target, verify, tolerance, opset, train_val=train_val or solver is not None, data_lmdb=data_lmdb)
    with progress_bar(doing="exporting"):
        from converters.rewriting import Rewrites
        from netdsl.model.weights.tensor_files import Precision
        from zoo.exporting import Export, ExportTarget, export

        rounded_to = Precision[precision.upper()] if precision else None
        rewrites = Rewrites(prune_to, fold, rgb, mean, fully_convolutional, rounded_to)
        path, export_target = Path(output) if output else None, ExportTarget(target)
        settings = Export(
            net,
            weights,
            export_target,
            path,
            assume,
            batch,
            stages,
            rewrites,
            verify,
            tolerance,
            opset,
            train_val,
            solver,
            data_lmdb,
            dialect,
        )
        exported = export(settings)
    _show_export(exported, as_json)


def _check_options(
    target: str, verify: bool, tolerance: float | None, opset: int | None, *, train_val: bool, data_lmdb: bool
) -> None:
    """Raise a usage error if options don't go together."""
    if target != "caffe" and train_val:
        raise click.UsageError("--train-val and --solver are for --to caffe")
    if data_lmdb and not train_val:
        raise click.UsageError("--data-lmdb is for the data of --train-val or --solver")
    if target != "onnx" and opset is not None:
        raise click.UsageError("--opset is for --to onnx")
    if not verify and tolerance is not None:
        raise click.UsageError("--tolerance is for verifying; remove --no-verify")


def _show_export(exported: ExportedFiles, as_json: bool) -> None:
    if as_json:
        from netdsl.model.data_shapes import plain_data

        files = [str(path) for path in exported.files]
        known = {"files": files, "inputs": exported.inputs, "unproved": exported.unproved, "notes": exported.notes}
        print_json({**known, **_plain_proofs(exported.proofs, exported.names), **plain_data(exported.data)})
        return
    inputs = [f"input {name} {'x'.join(map(str, shape))}" for name, shape in exported.inputs.items()]
    for line in [
        *inputs,
        *_proof_lines(exported.proofs, exported.names),
        *(
            f"output '{name}' is the same everywhere, or no number, for random inputs: the proof says nothing of it"
            for name in exported.unproved
        ),
        *(f"wrote {path}" for path in exported.files),
        *exported.notes,
    ]:
        click.echo(line)


@click.command("convert", short_help="Convert weights and nets from one format to another.")
@click.argument("source", metavar="IN")
@click.argument("output", metavar="OUT")
@click.option("--net", metavar="NET", help="The net of weights whose tensors have torch's names.")
@click.option("--weights", multiple=True, metavar="FILE", help="The weights, where IN is a net without any.")
@click.option("--precision", type=click.Choice(options.PRECISIONS), help="The type of stored values.")
@options.allow_python
@options.net_dialect
@options.as_json
def convert_command(
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
        from netdsl.model.weights.tensor_files import Precision
        from zoo.converting import convert

        stored_type = Precision[precision.upper()] if precision else None
        converted = convert(source, output, net=net, weights=weights, precision=stored_type, dialect=dialect)
    if as_json:
        from netdsl.model.data_shapes import plain_data

        files = [str(path) for path in converted.files]
        print_json({"files": files, **_plain_proofs(converted.proofs, converted.names), **plain_data(converted.data)})
        return
    for line in [*_proof_lines(converted.proofs, converted.names), *(f"wrote {path}" for path in converted.files)]:
        click.echo(line)


def _plain_proofs(proofs: Sequence[Proof], names: Sequence[TensorMatch]) -> dict[str, object]:
    """Proofs and matches as JSON."""
    return {
        "proofs": [
            {"what": proof.what, "difference": proof.difference, "tolerance": proof.tolerance} for proof in proofs
        ],
        "names": [{"source": name.source, "layer": name.layer, "by": name.by.value} for name in names],
    }


def _proof_lines(proofs: Sequence[Proof], names: Sequence[TensorMatch]) -> list[str]:
    """Proofs and matches as lines of text."""
    matches = [f"layer {name.layer} has {name.source}, by {name.by.value}" for name in names]
    return matches + [_proof_line(proof) for proof in proofs]


def _proof_line(proof: Proof) -> str:
    if proof.difference is None:
        return f"{proof.what}: not verified"
    return f"{proof.what}: outputs differ by {proof.difference:.1e} of their spread ({proof.tolerance:g} allowed)"
