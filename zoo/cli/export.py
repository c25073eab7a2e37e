"""Output of `zoo export`, `zoo convert` and `zoo verify`."""

from __future__ import annotations

import math
from collections.abc import Iterator

from converters.rewriting import Proof
from netdsl.model.data_shapes import dimensions
from zoo.cli.output import counted, print_line
from zoo.converting import ConvertedFiles
from zoo.exporting import ExportedFiles, QuantizedModel
from zoo.requests.exporting import ConvertRequest, ExportRequest, VerifyRequest
from zoo.verifying import Verified


def show_exported(exported: ExportedFiles, request: ExportRequest) -> None:
    """Print the inputs of the exported net, the proofs and the files."""
    for name, shape in exported.inputs.items():
        print_line(f"input {name} {'x'.join(map(str, shape))}")
    for line in _proof_lines(exported):
        print_line(line)
    for shapes in exported.sizes:
        print_line(f"proved with {', '.join(f'{name} {dimensions(shape)}' for name, shape in shapes.items())}")
    if exported.quantized is not None:
        print_line(_quantized_line(exported.quantized))
    for name in exported.unproved:
        why = "is constant or not a number on random inputs, so the comparison proves nothing about it"
        print_line(f"output '{name}' {why}")
    for line in (*(f"wrote {path}" for path in exported.files), *exported.notes):
        print_line(line)


def show_converted(converted: ConvertedFiles, request: ConvertRequest) -> None:
    """Print the proofs and the files."""
    for line in (*_proof_lines(converted), *(f"wrote {path}" for path in converted.files)):
        print_line(line)


def _proof_lines(written: ExportedFiles | ConvertedFiles) -> Iterator[str]:
    """Yield the layers matched to tensors, and the proofs."""
    for name in written.names:
        yield f"layer {name.layer} gets {name.source}, by {name.by.value}"
    yield from map(_proof_line, written.proofs)


def _proof_line(proof: Proof) -> str:
    if proof.difference is None:
        return f"{proof.what}: not verified"
    return f"{proof.what}: outputs differ by {proof.difference:.1e} of their spread ({proof.tolerance:g} allowed)"


def _quantized_line(quantized: QuantizedModel) -> str:
    if quantized.difference is None:
        return "quantized to int8: not compared"
    items = counted(quantized.items or 0, "item")
    return f"quantized to int8: outputs differ by {quantized.difference:.1e} of their spread on {items}"


def show_verified(verified: Verified, request: VerifyRequest) -> None:
    """Print the difference of every common blob, the blobs that only one model contains, and the verdict."""
    for blob in verified.comparison.blobs:
        if blob.is_output or not request.outputs_only:
            differs = f"differs by {blob.difference:.1e} of its spread"
            what = "has another shape, or values that aren't finite" if math.isinf(blob.difference) else differs
            kind = "output" if blob.is_output else "blob"
            print_line(f"{kind} {blob.blob} {'x'.join(map(str, blob.shape))} {what}")
    for name, only in zip((request.first, request.second or request.runtime), verified.comparison.only, strict=True):
        if only and not request.outputs_only:
            print_line(f"only in {name}: {', '.join(only)}")
    beyond = verified.comparison.first_beyond(verified.tolerance)
    if not verified.same and beyond is not None:
        print_line(f"the first blob beyond {verified.tolerance:g} is '{beyond.blob}'")
    print_line(_verdict(verified))


def _verdict(verified: Verified) -> str:
    """Return the verdict on two models, in a line that fits on a terminal of 80 columns."""
    worst = verified.comparison.worst_output
    if math.isinf(worst):
        return "the models differ: an output has another shape, or isn't finite"
    verb = "agree" if verified.same else "differ"
    return f"the models {verb}: outputs differ by {worst:.1e} of their spread ({verified.tolerance:g} allowed)"
