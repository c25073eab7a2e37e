"""Finds the lengths of a net's blobs that can change. They follow the batch size or a count that depends on the
data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netdsl.errors import NetError
from netdsl.layer import BringsData, HasOnnxForm, Shape
from netdsl.net.build import Built

_SHAPE_PROBLEMS = (NetError, RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError)


@dataclass(frozen=True)
class LengthSource:
    """Axes, by edge, that change together, and the name of their length.

    `free` is true if the net's user chooses the length.
    """

    name: str
    axes: Mapping[int, int]
    free: bool


EdgeAxis = tuple[int, int]  # an edge and one of its axes
Lengths = dict[EdgeAxis, LengthSource]  # the source of every length that can change


def length_sources(built: Built) -> list[LengthSource]:
    """Return all sources: the first axes of the inputs, grouped by length, and the counts that layers produce."""
    groups: dict[int, list[int]] = {}
    for edge in built.input_edges():
        if built.shapes[edge]:
            groups.setdefault(built.shapes[edge][0], []).append(edge)
    sources = []
    for number, edges in enumerate(groups.values()):
        name = f"{built.graph.blobs[edges[0]]}_count" if number else "batch"
        sources.append(LengthSource(name, dict.fromkeys(edges, 0), free=True))
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        axis = layer.varying_axis if isinstance(layer, HasOnnxForm) else None
        if axis is not None:
            name = f"{built.graph.blobs[node.tops[0]]}_count"
            axes = {edge: axis for edge in node.tops if axis < len(built.shapes[edge])}
            sources.append(LengthSource(name, axes, free=False))
    return sources


def changing_lengths(built: Built, source: LengthSource) -> Lengths | None:
    """Return every length that changes with a source, or `None` if the net doesn't work with another length."""
    longer = {edge: _lengthened(built.shapes[edge], axis) for edge, axis in source.axes.items()}
    try:
        shapes = _shapes_with(built, longer)
    except _SHAPE_PROBLEMS:
        return None
    pairs = enumerate(zip(built.shapes, shapes, strict=True))
    lengths: Lengths = {}
    for edge, (before, after) in pairs:
        if len(before) != len(after):
            return None
        lengths |= {(edge, axis): source for axis in range(len(before)) if before[axis] != after[axis]}
    return None if any(_mixed(built, edge, source, lengths) for edge in built.graph.outputs) else lengths


def _mixed(built: Built, edge: int, source: LengthSource, lengths: Lengths) -> bool:
    """Return whether a layer such as Reshape mixes the items of a batch in an output, which then isn't for each item.

    Only an axis that isn't the first then grows with the batch, and it is longer than the batch.
    """
    of_source = [built.shapes[at][axis] for at, axis in source.axes.items()]
    grown = [axis for (at, axis) in lengths if at == edge]
    return bool(grown) and 0 not in grown and not any(built.shapes[edge][axis] in of_source for axis in grown)


def _lengthened(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], shape[axis] + 1, *shape[axis + 1 :])


def _shapes_with(built: Built, changed_shapes: Mapping[int, Shape]) -> list[Shape]:
    """Return all shapes of the net after the shapes of some edges change. Only affected layers are recomputed."""
    shapes = list(built.shapes)
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        if not isinstance(layer, BringsData) and any(shapes[edge] != built.shapes[edge] for edge in node.bottoms):
            tops: Sequence[Shape] = layer.top_shapes([shapes[edge] for edge in node.bottoms])
            for edge, shape in zip(node.tops, tops, strict=False):
                shapes[edge] = shape
        for edge in node.tops:
            shapes[edge] = changed_shapes.get(edge, shapes[edge])
    return shapes
