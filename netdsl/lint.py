"""Whether a net would work, found out without weights or data: parsed, types known, connected, shapes, a run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.files import read_net
from caffe_proto.upgrade import upgrade_net
from netdsl.build import Built, Types, build, reshape, type_of, unknown_types
from netdsl.errors import NetError, ShapeError
from netdsl.graph import Graph, Node, resolve_all
from netdsl.layer import Shape
from netdsl.layers import LAYERS
from netdsl.module import NetModule

_MOST_ITEMS = 2  # of a batch, for a run that only has to show that it runs


@dataclass
class Finding:
    """What became of one file. `needs_code` are the private Python layers that alone stand in the way."""

    file: str
    parsed: bool = False
    resolved: bool = False
    ran: bool | None = None  # None: not asked for, or not resolved
    reason: str = ""
    phases: list[str] = field(default_factory=list)
    needs_code: list[str] = field(default_factory=list)


def check_net(
    path: str | Path,
    *,
    run: bool = False,
    assume: Mapping[str, Shape] | None = None,
    stages: Sequence[str] = (),
    types: Types = LAYERS,
) -> Finding:
    """Check one file. `assume` has shapes, without the batch, of blobs whose data layers don't say them."""
    finding = Finding(str(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = upgrade_net(read_net(path, lenient=True).message).message
        finding.parsed = True
        _assume(net, assume or {})
        builts = [build(graph, types) for graph in _graphs(net, stages, types, finding)]
        finding.resolved, finding.needs_code = True, []
        finding.phases = [built.graph.phase.name for built in builts]
        if run:
            finding.ran = False
            for built in builts:
                run_once(built)
            finding.ran = True
    except CaffeError as problem:
        finding.reason = str(problem).removeprefix(f"{path}: ")
    return finding


def _graphs(net: pb.NetParameter, stages: Sequence[str], types: Types, finding: Finding) -> list[Graph]:
    graphs = resolve_all(net, stages=stages)
    if not graphs:
        raise NetError("the net has no layers")
    unknown = [node for graph in graphs for node in unknown_types(graph, types)]
    if not unknown:
        finding.needs_code = sorted(
            {_code(node) for graph in graphs for node in graph.nodes if _is_foreign(node, types)}
        )
    return graphs


def _is_foreign(node: Node, types: Types) -> bool:
    kind = type_of(node, types)
    return kind is not None and kind.foreign


def _code(node: Node) -> str:
    return f"{node.layer.python_param.module}.{node.layer.python_param.layer}"


def _assume(net: pb.NetParameter, shapes: Mapping[str, Shape]) -> None:
    """Tell layers that bring data the shapes that the user assumes for some of their tops."""
    for layer in net.layer:
        if layer.bottom or not any(top in shapes for top in layer.top):
            continue
        batch = layer.data_param.batch_size or layer.image_data_param.batch_size or 1
        layer.input_param.ClearField("shape")
        for top in layer.top:
            layer.input_param.shape.add(dim=(batch, *shapes.get(top, ())))


def run_once(built: Built) -> None:
    """A forward pass on small random input."""
    module = _small(built).allocate()
    with torch.no_grad():
        try:
            module.run({edge: _values(built, edge) for edge in module.inputs.values()})
        except (RuntimeError, ValueError, IndexError, TypeError) as problem:
            raise ShapeError(f"{built.graph.phase.name}: {_first_line(problem)}") from problem


def _small(built: Built) -> NetModule:
    """With a batch of two where the net allows it; some have their batch size written into a Reshape."""
    module, shapes = NetModule(built), list(built.shapes)
    edges = list(module.inputs.values())
    smaller = {edge: (min(shapes[edge][0], _MOST_ITEMS), *shapes[edge][1:]) for edge in edges if shapes[edge]}
    try:
        reshape(built, smaller)
    except NetError:
        reshape(built, {edge: shapes[edge] for edge in edges})
    return module


def _values(built: Built, edge: int) -> Tensor:
    """Random values, but zeros where a layer reads labels: any number is no label."""
    pairs = zip(built.graph.nodes, built.layers, strict=True)
    labels = any(
        position in layer.no_gradient and reads == edge
        for node, layer in pairs
        for position, reads in enumerate(node.bottoms)
    )
    return torch.zeros(built.shapes[edge]) if labels else torch.randn(built.shapes[edge])


def _first_line(problem: Exception) -> str:
    return str(problem).splitlines()[0] if str(problem) else type(problem).__name__
