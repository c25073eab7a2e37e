"""Finds the lengths of a net's blobs that can change. They follow the batch size, axes that a user leaves free, or a
count that depends on the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from netdsl.errors import ConversionError, NetError, ShapeError
from netdsl.layer import BringsData, HasOnnxForm, Layer, Shape
from netdsl.layer.data import INPUT_TYPE
from netdsl.layer.deploying import BecomesConvolution
from netdsl.net.build import Built, infer
from netdsl.net.graph import Node

FreeAxes = Mapping[str, Sequence[str | int]]  # by input: a name for each free axis, and the lengths of the others
EdgeAxis = tuple[int, int]  # an edge and one of its axes

_SHAPE_PROBLEMS = (NetError, RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError)

# The multiples in which a free length may change. Nets that halve images several times and add them again need one.
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128)
_CHANGES = (1, 2, 3, 5, 8, 13)  # numbers of steps by which a length is changed to see what else changes
_FAR = 256  # a change of the length that no stride hides
_SEARCHED = 64  # lengths that are tried to find one that the net takes


@dataclass(frozen=True)
class LengthSource:
    """Axes that change together, and the name of their length.

    `free` is true if the net's user chooses the length, and `requested` if it must be free in an export. The net takes
    lengths that differ from its own by a multiple of `step`.
    """

    name: str
    axes: tuple[EdgeAxis, ...]
    free: bool
    requested: bool = False
    step: int = 1

    def counts_items(self) -> bool:
        """Return whether the length is only that of first axes, such as a batch size."""
        return all(axis == 0 for _, axis in self.axes)


@dataclass(frozen=True)
class ChangingLength:
    """A length that changes with a source. `equal` is true if it is always the length of the source itself."""

    source: LengthSource
    equal: bool


Lengths = dict[EdgeAxis, ChangingLength]  # every length that can change


class _RefusedShapeError(Exception):
    """A layer doesn't take the shapes of its bottoms."""

    def __init__(self, node: Node, layer: Layer, reason: str) -> None:
        super().__init__(reason)
        self.node, self.layer = node, layer


def length_sources(built: Built, free: FreeAxes | None = None) -> list[LengthSource]:
    """Return all sources: the free axes of inputs, and the counts that layers produce.

    By default, the first axes of the inputs are free, grouped by length.
    """
    sources = _first_axes(built) if free is None else _requested(built, free)
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        axis = layer.varying_axis if isinstance(layer, HasOnnxForm) else None
        if axis is not None:
            name = f"{built.graph.blobs[node.tops[0]]}_count"
            axes = tuple((edge, axis) for edge in node.tops if axis < len(built.shapes[edge]))
            sources.append(LengthSource(name, axes, free=False))
    return sources


def _first_axes(built: Built) -> list[LengthSource]:
    groups: dict[int, list[EdgeAxis]] = {}
    for edge in built.input_edges():
        if built.shapes[edge]:
            groups.setdefault(built.shapes[edge][0], []).append((edge, 0))
    sources = []
    for number, axes in enumerate(groups.values()):
        name = f"{built.graph.blobs[axes[0][0]]}_count" if number else "batch"
        sources.append(LengthSource(name, tuple(axes), free=True))
    return sources


def _requested(built: Built, free: FreeAxes) -> list[LengthSource]:
    """Return a source for each name that a user gives to axes.

    Raises a `ConversionError` if the axes don't fit the inputs, or if a layer needs a length.
    """
    edges = {built.graph.blobs[edge]: edge for edge in built.input_edges()}
    axes: dict[str, list[EdgeAxis]] = {}
    for name, lengths in free.items():
        if name not in edges:
            raise ConversionError(f"the net has no input '{name}'; name one of these: {', '.join(edges)}")
        shape = built.shapes[edges[name]]
        if len(lengths) != len(shape):
            raise ConversionError(
                f"input '{name}' has {len(shape)} axes, {list(shape)}, but {len(lengths)} are given; give each a name "
                "or its length"
            )
        for axis, (given, own) in enumerate(zip(lengths, shape, strict=True)):
            if isinstance(given, str):
                axes.setdefault(given, []).append((edges[name], axis))
            elif given != own:
                raise ConversionError(
                    f"axis {axis} of input '{name}' has the length {own} in the net, not {given}; write {own} or a "
                    "name, or change the length with --assume, and that of the batch with --batch"
                )
    for name, named in axes.items():
        own_lengths = {built.shapes[edge][axis] for edge, axis in named}
        if len(own_lengths) > 1:
            raise ConversionError(
                f"the axes with the name '{name}' have the lengths {', '.join(map(str, sorted(own_lengths)))} in the "
                "net; give axes of different lengths different names"
            )
    sources = (LengthSource(name, tuple(named), free=True, requested=True) for name, named in axes.items())
    return [replace(source, step=_step(built, source)) for source in sources]


def named_sources(built: Built, inputs: Mapping[str, Sequence[int | str | None]]) -> list[LengthSource]:
    """Return the axes that a written model leaves open, by their names."""
    axes: dict[str, list[EdgeAxis]] = {}
    for edge in built.input_edges():
        for axis, length in enumerate(inputs.get(built.graph.blobs[edge], ())):
            if isinstance(length, str):
                axes.setdefault(length, []).append((edge, axis))
    return [LengthSource(name, tuple(named), free=True) for name, named in axes.items()]


def length_conditions(built: Built, free: FreeAxes) -> list[str]:
    """Return a sentence for each free axis whose length a net takes only in steps."""
    return [
        f"{source.name} must be {built.shapes[edge][axis]}, or differ from it by a multiple of {source.step}"
        for source in length_sources(built, free)
        for edge, axis in source.axes[:1]
        if source.step > 1
    ]


def changing_lengths(built: Built, source: LengthSource) -> Lengths | None:
    """Return every length that changes with a source, or `None` if the net doesn't work with another length."""
    try:
        lengths = _changed(built, source, _changes_by(source.step) if source.requested else [1])
    except _RefusedShapeError:
        return None
    return (
        None if not source.requested and any(_mixed(built, edge, lengths) for edge in built.graph.outputs) else lengths
    )


def _mixed(built: Built, edge: int, lengths: Lengths) -> bool:
    """Return whether a layer such as Reshape mixes the items of a batch in an output, which then isn't for each item.

    Only an axis that isn't the first then grows with the batch, and it isn't the batch itself.
    """
    grown = {axis: length for (at, axis), length in lengths.items() if at == edge}
    return bool(grown) and 0 not in grown and not any(length.equal for length in grown.values())


def _step(built: Built, source: LengthSource) -> int:
    """Return the smallest step in which the net takes other lengths. Raises a `ConversionError` if there is none."""
    for step in _STEPS:
        try:
            _changed(built, source, _changes_by(step))
        except _RefusedShapeError as problem:
            refused = problem
        else:
            return step
    raise ConversionError(refusal([(refused.node, refused.layer)], source, built, f" ({str(refused).split('; ')[0]})"))


def _changes_by(step: int) -> list[int]:
    return [step * count for count in (*_CHANGES, -(-_FAR // step))]


def refusal(needing: Sequence[tuple[Node, Layer]], source: LengthSource, built: Built, reason: str = "") -> str:
    """Return the error about layers that need a length that was requested to be free."""
    edge, axis = source.axes[0]
    where, own = f"axis {axis} of input '{built.graph.blobs[edge]}'", built.shapes[edge][axis]
    named = ", ".join(f"'{node.layer.name}' of type {node.layer.type}" for node, _ in needing)
    convolution = any(isinstance(layer, BecomesConvolution) for _, layer in needing)
    advice = "turn fully connected layers into convolutions with --fully-convolutional, or " if convolution else ""
    return (
        f"{where} can't be free as '{source.name}', because its length is fixed by layer {named}{reason}; {advice}"
        f"write {own} in place of {source.name}"
    )


def _changed(built: Built, source: LengthSource, changes: Iterable[int]) -> Lengths:
    """Return the lengths that change if the source's length does.

    Raises a `_RefusedShapeError` if a layer refuses a change.
    """
    lengths: Lengths = {}
    own = next((built.shapes[edge][axis] for edge, axis in source.axes), 0)
    for number, change in enumerate(changes):
        shapes = _shapes_with(built, _lengthened(built, source, change))
        for edge, (before, after) in enumerate(zip(built.shapes, shapes, strict=True)):
            for axis in range(len(before)):
                known = lengths.get((edge, axis))
                if before[axis] != after[axis] or known is not None:
                    equal = (before[axis], after[axis]) == (own, own + change)
                    lengths[edge, axis] = ChangingLength(source, equal and (known.equal if known else number == 0))
    return lengths


def _lengthened(built: Built, source: LengthSource, change: int) -> dict[int, Shape]:
    """Return the shapes of a source's edges after a change of its length."""
    shapes: dict[int, list[int]] = {}
    for edge, axis in source.axes:
        shapes.setdefault(edge, list(built.shapes[edge]))[axis] += change
    return {edge: tuple(shape) for edge, shape in shapes.items()}


def _shapes_with(built: Built, changed_shapes: Mapping[int, Shape]) -> list[Shape]:
    """Return all shapes of the net after the shapes of some edges change. Only affected layers are recomputed."""
    shapes = list(built.shapes)
    for node, layer in zip(built.graph.nodes, built.layers, strict=True):
        if not isinstance(layer, BringsData) and any(shapes[edge] != built.shapes[edge] for edge in node.bottoms):
            try:
                tops: Sequence[Shape] = layer.top_shapes([shapes[edge] for edge in node.bottoms])
            except _SHAPE_PROBLEMS as problem:
                raise _RefusedShapeError(node, layer, next(iter(str(problem).splitlines()), "")) from None
            for edge, shape in zip(node.tops, tops, strict=False):
                if len(shape) != len(built.shapes[edge]):
                    raise _RefusedShapeError(node, layer, "the number of its top's axes would change")
                shapes[edge] = shape
        for edge in node.tops:
            shapes[edge] = changed_shapes.get(edge, shapes[edge])
    return shapes


def rebuilt(built: Built, shapes: Mapping[str, Shape]) -> Built:
    """Return the net built again for inputs of other shapes, with the same weights."""
    made = infer(replace(built.graph, nodes=_nodes_with(built, shapes), blobs=list(built.graph.blobs)))
    for own, layer in zip(built.layers, made.layers, strict=True):
        for name in (each for each in layer.blob_names() if each not in layer.reshaped_blobs()):
            blob: torch.Tensor = getattr(own, name)
            if blob.shape != getattr(layer, name).shape:
                raise ShapeError(f"layer '{layer.layer.name}' has other weights for these shapes; keep the sizes")
            setattr(layer, name, blob)
    return made


def _nodes_with(built: Built, shapes: Mapping[str, Shape]) -> list[Node]:
    """Return the nodes of a net whose data layers are inputs of these shapes."""
    nodes = []
    for node, layer in built.pairs():
        if isinstance(layer, BringsData):
            message = pb.LayerParameter(name=node.layer.name, type=INPUT_TYPE, top=node.layer.top)
            for edge in node.tops:
                message.input_param.shape.add(dim=shapes.get(built.graph.blobs[edge], built.shapes[edge]))
            node = replace(node, layer=message)
        nodes.append(node)
    return nodes


def trial_shapes(built: Built, sources: Sequence[LengthSource]) -> list[dict[str, Shape]]:
    """Return shapes of the inputs with which to try a net: its own, smaller ones and larger ones.

    The lengths are odd where the net takes odd lengths. There are fewer shapes if the net takes no others.
    """
    own = {built.graph.blobs[edge]: built.shapes[edge] for edge in built.input_edges()}
    trials = [own]
    for larger in (False, True):
        shapes = own
        for place, source in enumerate(sources):
            lengths = _other_lengths(built, source, place, larger=larger)
            candidates = [_with_length(built, shapes, source, length) for length in lengths]
            shapes = next((each for each in candidates if _takes(built, each)), shapes)
        if shapes not in trials:
            trials.append(shapes)
    return trials


def _other_lengths(built: Built, source: LengthSource, place: int, *, larger: bool) -> Iterator[int]:
    """Yield lengths to try in place of a source's own, odd ones first. Different sources get different lengths."""
    edge, axis = source.axes[0]
    own = built.shapes[edge][axis]
    if source.counts_items():
        yield own + 1 + larger
        return
    share = 0.3 + 0.1 * (place % 3)
    start = round(own * (1 + share if larger else 1 - share))
    tried = [start + distance for distance in range(_SEARCHED)]
    if not larger:
        tried = [length for near in tried for length in (near, 2 * start - near) if 0 < length < own]
    yield from sorted(dict.fromkeys(tried), key=lambda length: length % 2 == 0)


def _with_length(built: Built, shapes: Mapping[str, Shape], source: LengthSource, length: int) -> dict[str, Shape]:
    changed = {name: list(shape) for name, shape in shapes.items()}
    for edge, axis in source.axes:
        changed[built.graph.blobs[edge]][axis] = length
    return {name: tuple(shape) for name, shape in changed.items()}


def _takes(built: Built, shapes: Mapping[str, Shape]) -> bool:
    """Return whether a net can be built for inputs of these shapes, with the same weights."""
    try:
        rebuilt(built, shapes)
    except (CaffeError, *_SHAPE_PROBLEMS):
        return False
    return True
