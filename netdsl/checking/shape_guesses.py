"""Shapes of data that a net doesn't say: told by the user, or guessed so that the net's shapes fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from caffe_proto import caffe_pb2 as pb
from netdsl.checking.placeholder_layer import PlaceholderLayer
from netdsl.errors import NetError
from netdsl.layer import BringsData, Shape
from netdsl.layer.data import TYPICAL_SIDE, stated_shapes
from netdsl.net.build import Types, build, type_of
from netdsl.net.graph import Graph, Node, connect

Shapes = Mapping[str, Shape]  # of one item, by the name of its blob

# What a data layer may bring that doesn't say it, in turn: photographs, digits, two digits one behind the other for
# nets that compare them, thumbnails, two photographs.
_ITEMS = ((3, TYPICAL_SIDE, TYPICAL_SIDE), (1, 28, 28), (2, 28, 28), (3, 32, 32), (6, TYPICAL_SIDE, TYPICAL_SIDE))


def assume(net: pb.NetParameter, shapes: Shapes, types: Types) -> set[str]:
    """Tell the layers of a net that bring data the shapes of some of their tops; returns those that were told.

    A net's inputs without shapes become a layer, which may be told theirs.
    """
    told = set()
    if net.input:
        net.layer.insert(0, pb.LayerParameter(name="input", type="Input", top=net.input))
        net.ClearField("input")
    for layer in net.layer:
        known = shapes.keys() & set(layer.top)
        if layer.bottom or not known:
            continue
        own, said = _own_shapes(layer, types), stated_shapes(layer)
        own = own or [()] * len(layer.top)
        said = said * len(layer.top) if len(said) == 1 else said or [()] * len(layer.top)
        layer.input_param.ClearField("shape")
        for top, shape, usual in zip(layer.top, said, own, strict=False):
            batch = usual[:1] or own[0][:1] or (1,)
            layer.input_param.shape.add(dim=(*batch, *shapes[top]) if top in shapes else shape)
        told |= known
    return told


def shape_guesses(graph: Graph, types: Types) -> Iterator[dict[str, Shape]]:
    """Shapes of data to try in turn, none of which contradicts what the net says."""
    silent = [node.layer for node in graph.nodes if not node.bottoms and not stated_shapes(node.layer)]
    images = {layer.top[0]: shapes[0] for layer in silent if (shapes := _own_shapes(layer, types))}
    for item in _ITEMS:
        guess = {name: (item[0], *shape[2:]) if _says_size(shape) else item for name, shape in images.items()}
        if guess:
            yield guess
    yield from _as_predicted(graph, types, {top for layer in silent for top in layer.top[1:]})


def _own_shapes(layer: pb.LayerParameter, types: Types) -> list[Shape]:
    """The shapes of the tops that the settings of a data layer say; none if it isn't one, or they are wrong."""
    kind, alone = type_of(Node(layer, (), ()), types), pb.LayerParameter()
    alone.CopyFrom(layer)
    try:
        return kind(alone, []).top_shapes([]) if kind is not None and issubclass(kind, BringsData) else []
    except NetError:
        return []


def _says_size(shape: Shape) -> bool:
    return len(shape) == 4 and shape[2:] != (TYPICAL_SIDE, TYPICAL_SIDE)


def _as_predicted(graph: Graph, types: Types, labels: set[str]) -> Iterator[dict[str, Shape]]:
    """Labels that have the shape of what they are compared with, rather than one number for each item."""
    readers = [node for node in graph.nodes if labels.intersection(node.layer.bottom[1:])]
    if not readers:
        return
    try:
        built = build(connect(graph.net), {**types, **{node.layer.type: PlaceholderLayer for node in readers}})
    except NetError:
        return
    for node in readers:
        predicted = built.shapes[node.bottoms[0]]
        yield {name: predicted[1:] for name in node.layer.bottom[1:] if name in labels}
