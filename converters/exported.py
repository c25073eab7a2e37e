"""Nets as torch.export's artefacts: `.pt2` files, which torch runs without this package."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import torch
from torch.export import Dim

from caffe_proto.storage import write_pieces
from converters.onnx.lengths import changing, sources
from converters.samples import sample_inputs
from netdsl.build import Built, running
from netdsl.errors import ConversionError, NetError
from netdsl.graph import Phase
from netdsl.module import NetModule
from netdsl.net import Net


def save(net: Net | Built, path: str | Path) -> None:
    """Write a net, with its weights, as a program of torch's own operators; the batch stays open if the net allows it.

    It takes the inputs in the net's order, and gives the outputs by name.
    """
    module = net.module if isinstance(net, Net) else NetModule(net)
    if module.built.graph.phase is not Phase.TEST:
        raise ConversionError("a net of the TRAIN phase isn't exported; take the TEST phase")
    program = BytesIO()
    try:
        with torch.no_grad(), running(module.built):
            torch.export.save(_program(module), program)
    except NetError as problem:
        raise ConversionError(f"torch can't export the net: {problem}") from problem
    write_pieces(path, [program.getbuffer()])


def _program(module: NetModule) -> torch.export.ExportedProgram:
    built = module.built
    free = [source.axes for source in sources(built) if source.free and changing(built, source)]
    is_open = {edge for axes in free for edge in axes}
    shapes = {name: built.shapes[edge] for name, edge in module.inputs.items()}
    longer = {  # lengths of 0 and 1 would be taken as what the net is made for
        name: (max(2, shape[0]), *shape[1:]) if module.inputs[name] in is_open else shape
        for name, shape in shapes.items()
    }
    given = tuple(torch.from_numpy(value) for value in sample_inputs(built, longer).values())
    axes = tuple({0: Dim.AUTO} if edge in is_open else None for edge in module.inputs.values())
    return torch.export.export(module, given, dynamic_shapes={"inputs": axes})
