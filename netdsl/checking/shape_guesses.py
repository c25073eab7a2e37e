"""Shapes of data that a net doesn't state: set by the user, or guessed so that the net's shapes fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import BringsData, NotDeployed, Shape
from netdsl.layer.data import TYPICAL_SIDE, state_batch, stated_shapes
from netdsl.layer.samples import TYPICAL_ITEMS
from netdsl.layers import type_of
from netdsl.net.build import build
from netdsl.net.graph import Graph, Node, connect
from netdsl.net.sequences import beginning_edges

Shapes = Mapping[str, Shape]  # of one item, by the name of its blob

_STEP = 32  # pixels: the factor by which most nets scale down
_MOST_BATCHES = 8  # to try, since a net has to be built for each

# The shapes to try for data, in this order: photographs, digits, two digits in two channels for nets that compare them,
# thumbnails, two photographs.
_ITEMS = ((3, TYPICAL_SIDE, TYPICAL_SIDE), (1, 28, 28), (2, 28, 28), (3, 32, 32), (6, TYPICAL_SIDE, TYPICAL_SIDE))


def assume(net: pb.NetParameter, shapes: Shapes) -> set[str]:
    """Set the shapes of tops of a net's data layers; returns the names of those that the net has.

    Inputs of the net without shapes become an Input layer, whose shapes can then be set.
    """
    assumed = set()
    if net.input:
        net.layer.insert(0, pb.LayerParameter(name="input", type="Input", top=net.input))
        net.ClearField("input")
    for layer in net.layer:
        known = shapes.keys() & set(layer.top)
        if layer.bottom or not known:
            continue
        top_shapes, stated = _data_shapes(layer), stated_shapes(layer)
        top_shapes = top_shapes or [()] * len(layer.top)
        stated = stated * len(layer.top) if len(stated) == 1 else stated or [()] * len(layer.top)
        layer.input_param.ClearField("shape")
        for top, shape, top_shape in zip(layer.top, stated, top_shapes, strict=False):
            batch = top_shape[:1] or top_shapes[0][:1] or (1,)
            layer.input_param.shape.add(dim=(*batch, *shapes[top]) if top in shapes else shape)
        assumed |= known
    return assumed


def shape_guesses(graph: Graph, *, stub_unknown: bool = False) -> Iterator[dict[str, Shape]]:
    """Shapes of data to try in turn, none of which contradicts those that the net states."""
    shapeless = [node.layer for node in graph.nodes if not node.bottoms and not stated_shapes(node.layer)]
    labels, in_steps = _label_sources(graph), _tops_in_steps(graph)
    images = {
        layer.top[0]: shapes[0]
        for layer in shapeless
        if (shapes := _data_shapes(layer)) and layer.top[0] not in labels | in_steps
    }
    steps = dict.fromkeys(in_steps, (max((shape[0] for shape in images.values() if shape), default=1),))
    known = {**steps, **_known_by_kind(graph)}
    for item in _ITEMS:
        guess = {name: (item[0], *shape[2:]) if _states_size(shape) else item for name, shape in images.items()}
        if guess or known:
            yield {**guess, **known}
    yield from _in_whole_steps(graph, images)
    yield from _as_predicted(graph, labels.union(*(layer.top[1:] for layer in shapeless)), stub_unknown=stub_unknown)


def _known_by_kind(graph: Graph) -> dict[str, Shape]:
    """The shapes of what is read as values of a kind that has one."""
    return {
        node.layer.bottom[place]: TYPICAL_ITEMS[kind]
        for node in graph.nodes
        if (reader := type_of(node.layer)) is not None
        for place, kind in enumerate(reader.bottom_kinds[: len(node.bottoms)])
        if kind in TYPICAL_ITEMS
    }


def _in_whole_steps(graph: Graph, images: Shapes) -> Iterator[dict[str, Shape]]:
    """Images of any size, a little larger, so that nets that scale them down and up again meet their own sizes."""
    kinds = {node.layer.top[0]: type_of(node.layer) for node in graph.nodes if node.layer.top}
    larger = {
        name: (shape[1], *(math.ceil(side / _STEP) * _STEP for side in shape[2:]))
        for name, shape in images.items()
        if (kind := kinds[name]) is not None and issubclass(kind, BringsData) and kind.any_size
    }
    if larger:
        yield larger


def _data_shapes(layer: pb.LayerParameter) -> list[Shape]:
    """The shapes of a data layer's tops by its settings; none for other layers, or if the settings are wrong."""
    kind, alone = type_of(layer), pb.LayerParameter()
    alone.CopyFrom(layer)
    try:
        return kind(alone, []).top_shapes([]) if kind is not None and issubclass(kind, BringsData) else []
    except NetError:
        return []


def _tops_in_steps(graph: Graph) -> set[str]:
    """What data layers without shapes bring as steps of several sequences, one of which goes with each image."""
    begins = beginning_edges(graph)
    sources = [node for node in graph.nodes if not node.bottoms and begins.intersection(node.tops)]
    return {top for node in sources if not stated_shapes(node.layer) for top in node.layer.top}


def _states_size(shape: Shape) -> bool:
    return len(shape) == 4 and shape[2:] != (TYPICAL_SIDE, TYPICAL_SIDE)


def _as_predicted(graph: Graph, labels: set[str], *, stub_unknown: bool) -> Iterator[dict[str, Shape]]:
    """Shapes of labels that have the shape of the prediction, rather than one number for each item."""
    kinds = [(type_of(node.layer), node) for node in graph.nodes if labels.intersection(node.layer.bottom[1:])]
    readers = [node for kind, node in kinds if kind is not None and issubclass(kind, NotDeployed)]
    if not readers:
        return
    try:
        built = build(connect(_without(graph, readers)), stub_unknown=stub_unknown)
    except NetError:
        return
    shapes = dict(zip(built.graph.blobs, built.shapes, strict=True))
    for node in readers:
        predicted = shapes.get(node.layer.bottom[0], ())
        for item in (predicted[1:], (1, *predicted[2:])) if predicted else ():
            yield {name: item for name in node.layer.bottom[1:] if name in labels}


def _without(graph: Graph, removed: Sequence[Node]) -> pb.NetParameter:
    """A net without some layers and all that reads what only they make."""
    rest = pb.NetParameter()
    rest.CopyFrom(graph.net)
    rest.ClearField("layer")
    made: set[str] = set()
    for node in graph.nodes:
        if node not in removed and made.issuperset(node.layer.bottom):
            rest.layer.append(node.layer)
            made.update(node.layer.top)
    return rest


def _label_sources(graph: Graph) -> set[str]:
    """What data layers without shapes bring that is read as nothing but labels, as those of segmentation often do."""
    read = {
        (edge, kind is not None and place in kind.no_gradient)
        for node in graph.nodes
        for kind in (type_of(node.layer),)
        for place, edge in enumerate(node.bottoms)
    }
    return {
        node.layer.top[0]
        for node in graph.nodes
        if not (node.bottoms or stated_shapes(node.layer)) and node.tops
        if (node.tops[0], True) in read and (node.tops[0], False) not in read
    }


def state_batches(net: pb.NetParameter, batch: int) -> bool:
    """Write another batch into all data layers; False if none of them says one itself."""
    stated = [state_batch(layer, batch) for layer in net.layer if not layer.bottom]
    return any(stated)


def batch_guesses(net: pb.NetParameter) -> list[int]:
    """Batches to try: numbers that are in the shapes which layers give to what they read."""
    shapes = [
        list(shape.dim)
        for layer in net.layer
        if layer.bottom
        for setting, settings in layer.ListFields()
        if setting.message_type is not None and not setting.is_repeated
        for _, shape in settings.ListFields()
        if isinstance(shape, pb.BlobShape)
    ]
    guesses = {math.prod(dims[:count]) for dims in shapes for count in range(1, len(dims) + 1)}
    guesses |= {length for dims in shapes for length in dims}
    return sorted(guess for guess in guesses if guess > 1)[:_MOST_BATCHES]
