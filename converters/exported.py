"""Export of nets by torch.export: `.pt2` files, which torch runs without this package."""

from __future__ import annotations

from contextlib import redirect_stderr
from io import BytesIO, StringIO
from pathlib import Path

import torch
from torch import SymInt, Tensor
from torch.export import Dim, ExportedProgram

from caffe_proto.storage import write_pieces
from converters.onnx.lengths import changing_lengths, length_sources
from converters.onnx.verification import TOLERANCE, difference
from netdsl.checking.sample_inputs import sample_inputs
from netdsl.errors import ConversionError, first_line
from netdsl.net.build import Built, running
from netdsl.net.graph import Phase
from netdsl.net.memory_format import filters_as_in_caffe
from netdsl.net.module import NetModule
from netdsl.net.net import Net
from netdsl.weights.files import array_of


def save(net: Net | Built, path: str | Path, *, verify: bool = True, tolerance: float = TOLERANCE) -> float | None:
    """Write a net with its weights as a program of torch's own operators; the batch size stays open if possible.

    The program takes the inputs in the net's order and returns the outputs by name. With `verify`, it is loaded again
    before the file is written and must compute the same; the result is then the largest difference of an output.
    """
    module = net.module if isinstance(net, Net) else NetModule(net)
    if module.built.graph.phase is not Phase.TEST:
        raise ConversionError("a net of the TRAIN phase isn't exported; take the TEST phase")
    program = BytesIO()
    try:
        with (
            torch.no_grad(),
            running(module.built),
            filters_as_in_caffe(module.built),
            redirect_stderr(StringIO()),  # torch prints its progress
        ):
            torch.export.save(_program(module), program)
    except Exception as problem:  # from the code of a layer, or from torch where it can't trace that
        raise ConversionError(f"torch can't export the net: {first_line(problem)}") from problem
    error = _difference(module, program) if verify else None
    if error is not None and error > tolerance:
        raise ConversionError(
            f"{path}: not written: its outputs differ by {error:.1e} of their spread, more than {tolerance:g}"
        )
    write_pieces(path, [program.getbuffer()])
    return error


def _program(module: NetModule) -> ExportedProgram:
    built = module.built
    free = [source.axes for source in length_sources(built) if source.free and changing_lengths(built, source)]
    open_inputs = {edge for axes in free for edge in axes}
    samples = _samples(module, open_inputs, least=2)  # torch would specialise the program to 0 or 1
    axes = tuple({0: Dim.AUTO} if edge in open_inputs else None for edge in module.inputs.values())
    return torch.export.export(module, samples, dynamic_shapes={"inputs": axes})


def _difference(module: NetModule, file: BytesIO) -> float:
    """The largest difference of an output between a net and its exported program, for two batch sizes."""
    file.seek(0)
    program = torch.export.load(file)
    exported, open_inputs = program.module(), _open_inputs(module, program)
    worst = 0.0
    for extra in (0, 1):
        samples = _samples(module, open_inputs, extra=extra)
        with torch.no_grad(), running(module.built):
            expected, actual = module(*samples), exported(*samples)
        worst = max(worst, *(difference(array_of(actual[name]), array_of(value)) for name, value in expected.items()))
    return worst


def _open_inputs(module: NetModule, program: ExportedProgram) -> set[int]:
    """The inputs whose first axis can have any length in the program."""
    values = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    pairs = zip(module.inputs.values(), program.graph_signature.user_inputs, strict=True)
    return {edge for edge, name in pairs if any(isinstance(length, SymInt) for length in values[name].shape[:1])}


def _samples(module: NetModule, open_inputs: set[int], *, least: int = 1, extra: int = 0) -> tuple[Tensor, ...]:
    """Sample inputs; where the first axis is open, its length is at least `least`, and larger by `extra`."""
    shapes = {name: module.built.shapes[edge] for name, edge in module.inputs.items()}
    longer = {
        name: (max(least, shape[0]) + extra, *shape[1:]) if module.inputs[name] in open_inputs else shape
        for name, shape in shapes.items()
    }
    return tuple(torch.from_numpy(value) for value in sample_inputs(module.built, longer).values())
