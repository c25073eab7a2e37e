"""Finds the lengths of a net's blobs that can change. They follow the batch size, a length that the net's user leaves
free, or a count that depends on the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from caffe_proto.errors import name_advice
from netdsl.errors import ConversionError, NetError
from netdsl.layer import BringsData, HasOnnxForm, Shape
from netdsl.net.build import Built

_SHAPE_PROBLEMS = (NetError, RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError)
_STEPS = (128, 96, 64, 32, 1)  # by which free lengths grow, since a stride hides smaller changes
_MULTIPLES = (1, 2, 4, 8, 16, 32, 64)  # of which free lengths are, if a net accepts no others
_FACTORS = (0.75, 1.35, 0.9, 1.7)  # of lengths for which a net with free ones is tried, the best first
_TRIALS = 3  # sizes for which such a net is tried

FreeLengths = Mapping[str, Sequence[int | str]]  # the lengths of inputs; a name leaves one free
_ALL_FIXED: FreeLengths = {}


@dataclass(frozen=True)
class LengthSource:
    """Axes, by edge, that change together, and the name of their length.

    `free` is true if the net's user chooses the length. `stated` is true if that was asked for, so it must stay free.
    """

    name: str
    axes: Mapping[int, int]
    free: bool
    stated: bool = False


EdgeAxis = tuple[int, int]  # an edge and one of its axes
Lengths = dict[EdgeAxis, LengthSource]  # the source of every length that can change


def length_sources(built: Built, stated: FreeLengths = _ALL_FIXED) -> list[LengthSource]:
    """Return all sources: the stated lengths of inputs, the first axes of other inputs, grouped by length, and the
    counts that layers produce."""
    sources = _stated_sources(built, stated)
    groups: dict[int, list[int]] = {}
    for edge in built.input_edges():
        if built.shapes[edge] and built.graph.blobs[edge] not in stated:
            groups.setdefault(built.shapes[edge][0], []).append(edge)
    for number, edges in enumerate(groups.values()):
        name = f"{built.graph.blobs[edges[0]]}_count" if number or sources else "batch"
        sources.append(LengthSource(name, dict.fromkeys(edges, 0), free=True))
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        axis = layer.varying_axis if isinstance(layer, HasOnnxForm) else None
        if axis is not None:
            name = f"{built.graph.blobs[node.tops[0]]}_count"
            axes = {edge: axis for edge in node.tops if axis < len(built.shapes[edge])}
            sources.append(LengthSource(name, axes, free=False))
    return sources


def _stated_sources(built: Built, stated: FreeLengths) -> list[LengthSource]:
    edges, axes = {built.graph.blobs[edge]: edge for edge in built.input_edges()}, dict[str, dict[int, int]]()
    for blob, lengths in stated.items():
        if blob not in edges:
            raise ConversionError(f"the net has no input '{blob}' to leave free; {name_advice(blob, edges)}")
        shape, names = built.shapes[edges[blob]], [length for length in lengths if isinstance(length, str)]
        if len(lengths) != len(shape) or len(set(names)) != len(names):
            raise ConversionError(
                f"input '{blob}' has the shape {list(shape)}; write a number or a name of its own for each length, as "
                "in data=N,3,H,W"
            )
        for axis, length in enumerate(lengths):
            if isinstance(length, str):
                axes.setdefault(length, {})[edges[blob]] = axis
    return [LengthSource(name, at, free=True, stated=True) for name, at in axes.items()]


def changing_lengths(built: Built, source: LengthSource) -> Lengths | None:
    """Return every length that changes with a source, or `None` if the net doesn't work with another length.

    Raises a `ConversionError` that names the layer if the length was stated to be free.
    """
    lengths, works = Lengths(), False
    for step in _STEPS if source.stated else (1,):
        longer = {edge: _longer(built.shapes[edge], axis, step) for edge, axis in source.axes.items()}
        try:
            shapes = shapes_with(built, longer)
        except _RefusedShapeError as refused:
            problem = refused
            continue
        works = True
        for edge, (before, after) in enumerate(zip(built.shapes, shapes, strict=True)):
            if len(before) != len(after):
                return None
            lengths |= {(edge, axis): source for axis in range(len(before)) if before[axis] != after[axis]}
    if not works and source.stated:
        raise ConversionError(
            f"{problem}, so {source.name} can't be free; state it as a number, or {_ADVICE}"
        ) from None
    if not works or (not source.stated and any(_mixed(built, edge, source, lengths) for edge in built.graph.outputs)):
        return None
    return lengths


_ADVICE = "turn fully connected layers into convolutions with --fully-convolutional"


def _mixed(built: Built, edge: int, source: LengthSource, lengths: Lengths) -> bool:
    """Return whether a layer such as Reshape mixes the items of a batch in an output, which then isn't for each item.

    Only an axis that isn't the first then grows with the batch, and it is longer than the batch.
    """
    of_source = [built.shapes[at][axis] for at, axis in source.axes.items()]
    grown = [axis for (at, axis) in lengths if at == edge]
    return bool(grown) and 0 not in grown and not any(built.shapes[edge][axis] in of_source for axis in grown)


def _longer(shape: Shape, axis: int, step: int) -> Shape:
    return (*shape[:axis], shape[axis] + step, *shape[axis + 1 :])


class _RefusedShapeError(Exception):
    """A layer that doesn't accept its bottoms' new shapes, and why."""


def shapes_with(built: Built, changed_shapes: Mapping[int, Shape]) -> list[Shape]:
    """Return all shapes of the net after the shapes of some edges change. Only affected layers are recomputed."""
    shapes = list(built.shapes)
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        if not isinstance(layer, BringsData) and any(shapes[edge] != built.shapes[edge] for edge in node.bottoms):
            try:
                tops: Sequence[Shape] = layer.top_shapes([shapes[edge] for edge in node.bottoms])
            except _SHAPE_PROBLEMS as problem:
                raise _RefusedShapeError(f"layer '{node.layer.name}' of type {node.layer.type}: {problem}") from None
            for edge, shape in zip(node.tops, tops, strict=False):
                shapes[edge] = shape
        for edge in node.tops:
            shapes[edge] = changed_shapes.get(edge, shapes[edge])
    return shapes


def trial_shapes(built: Built, lengths: Mapping[str, Sequence[int | str | None]]) -> list[dict[str, Shape]]:
    """Return the shapes of inputs for which a model is tried whose inputs have these lengths, or else nothing if only
    batches are free: the net's own ones, smaller ones and larger ones."""
    edges = {built.graph.blobs[edge]: edge for edge in built.input_edges()}
    own = {name: built.shapes[edge] for name, edge in edges.items()}
    free = {name for shape in lengths.values() for length in shape[1:] if isinstance(name := length, str)}
    if not free:
        return []
    found = (next(_accepted(built, own, edges, lengths, free, factor), None) for factor in _FACTORS)
    trials = [own, *(shapes for shapes in found if shapes is not None)][:_TRIALS]
    if len(trials) < _TRIALS:
        names = " and ".join(sorted(free))
        raise ConversionError(f"the net accepts too few of the {names} that were tried; state the lengths as numbers")
    return trials


def _accepted(
    built: Built,
    own: Mapping[str, Shape],
    edges: Mapping[str, int],
    lengths: Mapping[str, Sequence[int | str | None]],
    free: set[str],
    factor: float,
) -> Iterator[dict[str, Shape]]:
    """Yield shapes near a multiple of the net's own that it accepts. The first ones have odd lengths."""
    for multiple in _MULTIPLES:
        shapes = {
            name: tuple(
                _near(length, factor, multiple) if wanted in free else length + (not axis and isinstance(wanted, str))
                for axis, (length, wanted) in enumerate(zip(shape, lengths.get(name, shape), strict=True))
            )
            for name, shape in own.items()
        }
        try:
            shapes_with(built, {edges[name]: shape for name, shape in shapes.items()})
        except _RefusedShapeError:
            continue
        if shapes != own:
            yield shapes


def _near(length: int, factor: float, multiple: int) -> int:
    """Return a multiple of a number near a part of a length. It is odd if the number is 1."""
    if multiple == 1:
        return int(length * factor) | 1
    return max(1, round(length * factor / multiple)) * multiple
