"""`zoo verify`: whether two models compute the same."""

from __future__ import annotations

import math
from collections.abc import Mapping

import click

from converters.compare import BlobDifference, Comparison, compare, open_runnable
from netdsl.layer import Shape
from zoo.cli import options, shapes
from zoo.cli.output import complain, print_json


@click.command("verify", short_help="Whether two models compute the same.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--tolerance", type=float, default=1e-5, show_default=True, help="Of the spread of a blob's values.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random inputs.")
@click.option("--outputs-only", is_flag=True, help="Don't list the blobs on the way.")
@shapes.assume
@options.as_json
def command(
    first: str,
    second: str,
    tolerance: float,
    seed: int,
    outputs_only: bool,
    assume: Mapping[str, Shape],
    as_json: bool,
) -> None:
    """Run two models of any formats on the same random inputs, and tell for every blob that both have, in the order in
    which they are computed, how far they are apart. Exits with 1 if an output is further than the tolerance.

    A model is an .onnx file, a .caffemodel that has its net, or a net with its weights behind a comma, in any format
    that has some: deploy.prototxt,weights.safetensors. A net that was trained is taken as it is deployed.
    """
    found = compare(*(open_runnable(each, shapes=assume) for each in (first, second)), seed=seed)
    if as_json:
        print_json(_plain(found, tolerance))
    else:
        for blob in found.blobs:
            if blob.is_output or not outputs_only:
                click.echo(_line(blob))
        for name, only in zip((first, second), found.only, strict=True):
            if only and not outputs_only:
                click.echo(f"only in {name}: {', '.join(only)}")
    if found.worst_output > tolerance:
        beyond = found.first_beyond(tolerance)
        assert beyond is not None
        complain(f"the models differ: the first blob beyond {tolerance:g} is '{beyond.blob}'")
        raise click.exceptions.Exit(1)


def _line(blob: BlobDifference) -> str:
    kind = "output" if blob.is_output else "blob"
    how = (
        "has another shape, or values without end"
        if math.isinf(blob.difference)
        else f"differs by {blob.difference:.1e} of its spread"
    )
    return f"{kind} {blob.blob} {'x'.join(map(str, blob.shape))} {how}"


def _plain(found: Comparison, tolerance: float) -> dict[str, object]:
    return {
        "same": found.worst_output <= tolerance,
        "blobs": [
            {"blob": each.blob, "shape": each.shape, "output": each.is_output, "difference": each.difference}
            for each in found.blobs
        ],
        "only": found.only,
    }
