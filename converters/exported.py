"""Nets as torch.export's artefacts: `.pt2` files, which torch runs without this package."""

from __future__ import annotations

from contextlib import redirect_stderr
from io import BytesIO, StringIO
from pathlib import Path

import torch
from torch import SymInt, Tensor
from torch.export import Dim, ExportedProgram

from caffe_proto.storage import write_pieces
from converters.onnx.lengths import changing, sources
from converters.onnx.verification import TOLERANCE, difference
from netdsl.checking.sample_inputs import sample_inputs
from netdsl.errors import ConversionError, first_line
from netdsl.net.build import Built, running
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule
from netdsl.net.net import Net
from netdsl.weights.files import array_of


def save(net: Net | Built, path: str | Path, *, verified: bool = True, tolerance: float = TOLERANCE) -> float | None:
    """Write a net, with its weights, as a program of torch's own operators; the batch stays open if the net allows it.

    It takes the inputs in the net's order, and gives the outputs by name. Unless told otherwise it is read again before
    it is written, and must compute the same; how far its outputs are from the net's comes back.
    """
    module = net.module if isinstance(net, Net) else NetModule(net)
    if module.built.graph.phase is not Phase.TEST:
        raise ConversionError("a net of the TRAIN phase isn't exported; take the TEST phase")
    program = BytesIO()
    try:
        with torch.no_grad(), running(module.built), redirect_stderr(StringIO()):  # torch prints what it has so far
            torch.export.save(_program(module), program)
    except Exception as problem:  # a layer's own, and torch's where it can't follow
        raise ConversionError(f"torch can't export the net: {first_line(problem)}") from problem
    found = _difference(module, program) if verified else None
    if found is not None and found > tolerance:
        raise ConversionError(
            f"{path}: not written: its outputs differ by {found:.1e} of their spread, more than {tolerance:g}"
        )
    write_pieces(path, [program.getbuffer()])
    return found


def _program(module: NetModule) -> ExportedProgram:
    built = module.built
    free = [source.axes for source in sources(built) if source.free and changing(built, source)]
    is_open = {edge for axes in free for edge in axes}
    given = _samples(module, is_open, least=2)  # 0 and 1 would be taken as what the net is for
    axes = tuple({0: Dim.AUTO} if edge in is_open else None for edge in module.inputs.values())
    return torch.export.export(module, given, dynamic_shapes={"inputs": axes})


def _difference(module: NetModule, file: BytesIO) -> float:
    """The largest difference of an output between a net and the program that was made of it, with two batches."""
    file.seek(0)
    program = torch.export.load(file)
    runs, is_open = program.module(), _left_open(module, program)
    worst = 0.0
    for more in (0, 1):
        given = _samples(module, is_open, more=more)
        with torch.no_grad(), running(module.built):
            wanted, found = module(*given), runs(*given)
        worst = max(worst, *(difference(array_of(found[name]), array_of(each)) for name, each in wanted.items()))
    return worst


def _left_open(module: NetModule, program: ExportedProgram) -> set[int]:
    """The inputs whose first axis torch found that it can have any length."""
    values = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    pairs = zip(module.inputs.values(), program.graph_signature.user_inputs, strict=True)
    return {edge for edge, name in pairs if any(isinstance(length, SymInt) for length in values[name].shape[:1])}


def _samples(module: NetModule, is_open: set[int], *, least: int = 1, more: int = 0) -> tuple[Tensor, ...]:
    """Inputs, whose first axis has another length where it can."""
    shapes = {name: module.built.shapes[edge] for name, edge in module.inputs.items()}
    longer = {
        name: (max(least, shape[0]) + more, *shape[1:]) if module.inputs[name] in is_open else shape
        for name, shape in shapes.items()
    }
    return tuple(torch.from_numpy(value) for value in sample_inputs(module.built, longer).values())
