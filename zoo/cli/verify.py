"""`zoo verify`: verify that two models compute the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from zoo.cli import options, shapes
from zoo.cli.output import ExitCode, complain, print_json, progress_bar
from zoo.cli.shapes import Shape

if TYPE_CHECKING:
    from converters.compare import BlobDifference, Comparison


@click.command("verify", short_help="Verify that two models compute the same.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    metavar="T",
    default=1e-5,
    show_default=True,
    help="The largest difference of an output, relative to the spread of a blob's values.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="The seed of the random inputs.",
)
@click.option("--outputs-only", is_flag=True, help="Don't list the blobs between inputs and outputs.")
@shapes.assume
@options.allow_python
@options.net_dialect
@options.as_json
def command(
    first: str,
    second: str,
    tolerance: float,
    seed: int,
    outputs_only: bool,
    assume: Mapping[str, Shape],
    dialect: str | None,
    as_json: bool,
) -> None:
    """Run two models of any formats on the same random inputs, and print the difference of every blob that both have,
    in the order in which they are computed. The exit code is 1 if an output's difference is above the tolerance.

    A model is an .onnx file, a .caffemodel that has its net, or a net with its weights after a comma, in any format of
    weights: deploy.prototxt,weights.safetensors. A net for training is compared as it is deployed.
    """
    with progress_bar(doing="comparing"):
        from converters.compare import compare, open_comparable

        models = [open_comparable(files, shapes=assume, dialect=dialect) for files in (first, second)]
        comparison = compare(*(opened.model for opened in models), seed=seed)
    if as_json:
        from netdsl.model.data_shapes import plain_data

        plain_models = [plain_data(opened.data) for opened in models]
        print_json({**_plain_comparison(comparison, tolerance), "models": plain_models})
    else:
        for blob in comparison.blobs:
            if blob.is_output or not outputs_only:
                click.echo(_blob_line(blob))
        for name, only in zip((first, second), comparison.only, strict=True):
            if only and not outputs_only:
                click.echo(f"only in {name}: {', '.join(only)}")
    if comparison.worst_output > tolerance:
        different = comparison.first_beyond(tolerance)
        assert different is not None
        complain(f"the models differ: the first blob beyond {tolerance:g} is '{different.blob}'")
        raise click.exceptions.Exit(ExitCode.NO)


def _blob_line(blob: BlobDifference) -> str:
    kind = "output" if blob.is_output else "blob"
    difference = (
        "has another shape, or values that aren't finite"
        if math.isinf(blob.difference)
        else f"differs by {blob.difference:.1e} of its spread"
    )
    return f"{kind} {blob.blob} {'x'.join(map(str, blob.shape))} {difference}"


def _plain_comparison(comparison: Comparison, tolerance: float) -> dict[str, object]:
    return {
        "same": comparison.worst_output <= tolerance,
        "blobs": [
            {"blob": blob.blob, "shape": blob.shape, "output": blob.is_output, "difference": blob.difference}
            for blob in comparison.blobs
        ],
        "only": comparison.only,
    }
