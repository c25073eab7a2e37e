"""Which lengths of a net's blobs can change: those that follow the batch, or a count that only running tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netdsl.errors import NetError
from netdsl.layer import BringsData, HasOnnxForm, Shape
from netdsl.net.build import Built

_SHAPE_PROBLEMS = (NetError, RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError)


@dataclass(frozen=True)
class LengthSource:
    """Axes, by edge, that change together, and what their length is called; `free` if the net's user says it."""

    name: str
    axes: Mapping[int, int]
    free: bool


Place = tuple[int, int]  # an edge and an axis of it
Lengths = dict[Place, LengthSource]  # for every length that changes the reason


def sources(built: Built) -> list[LengthSource]:
    """All that could change: the first axis of inputs, together where it is as long, and what layers count."""
    groups: dict[int, list[int]] = {}
    for edge in built.input_edges():
        if built.shapes[edge]:
            groups.setdefault(built.shapes[edge][0], []).append(edge)
    found = []
    for number, edges in enumerate(groups.values()):
        name = f"{built.graph.blobs[edges[0]]}_count" if number else "batch"
        found.append(LengthSource(name, dict.fromkeys(edges, 0), free=True))
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        axis = layer.varying_axis if isinstance(layer, HasOnnxForm) else None
        if axis is not None:
            name = f"{built.graph.blobs[node.tops[0]]}_count"
            axes = {edge: axis for edge in node.tops if axis < len(built.shapes[edge])}
            found.append(LengthSource(name, axes, free=False))
    return found


def changing(built: Built, source: LengthSource) -> Lengths | None:
    """Every length that changes with a source; None if the net doesn't fit together any more."""
    longer = {edge: _longer(built.shapes[edge], axis) for edge, axis in source.axes.items()}
    try:
        shapes = _shapes_with(built, longer)
    except _SHAPE_PROBLEMS:
        return None
    pairs = enumerate(zip(built.shapes, shapes, strict=True))
    found: Lengths = {}
    for edge, (before, after) in pairs:
        if len(before) != len(after):
            return None
        found |= {(edge, axis): source for axis in range(len(before)) if before[axis] != after[axis]}
    return found


def _longer(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], shape[axis] + 1, *shape[axis + 1 :])


def _shapes_with(built: Built, given: Mapping[int, Shape]) -> list[Shape]:
    """All shapes if those of some edges are others; only layers that this reaches are asked."""
    shapes = list(built.shapes)
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        if not isinstance(layer, BringsData) and any(shapes[edge] != built.shapes[edge] for edge in node.bottoms):
            tops: Sequence[Shape] = layer.top_shapes([shapes[edge] for edge in node.bottoms])
            for edge, shape in zip(node.tops, tops, strict=False):
                shapes[edge] = shape
        for edge in node.tops:
            shapes[edge] = given.get(edge, shapes[edge])
    return shapes
