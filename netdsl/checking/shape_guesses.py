"""Shapes of data that a net doesn't state: set by the user, or guessed so that the net's shapes fit."""

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

# The shapes to try for data, in this order: photographs, digits, two digits in two channels for nets that compare them,
# thumbnails, two photographs.
_ITEMS = ((3, TYPICAL_SIDE, TYPICAL_SIDE), (1, 28, 28), (2, 28, 28), (3, 32, 32), (6, TYPICAL_SIDE, TYPICAL_SIDE))


def assume(net: pb.NetParameter, shapes: Shapes, types: Types) -> set[str]:
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
        top_shapes, stated = _data_shapes(layer, types), stated_shapes(layer)
        top_shapes = top_shapes or [()] * len(layer.top)
        stated = stated * len(layer.top) if len(stated) == 1 else stated or [()] * len(layer.top)
        layer.input_param.ClearField("shape")
        for top, shape, top_shape in zip(layer.top, stated, top_shapes, strict=False):
            batch = top_shape[:1] or top_shapes[0][:1] or (1,)
            layer.input_param.shape.add(dim=(*batch, *shapes[top]) if top in shapes else shape)
        assumed |= known
    return assumed


def shape_guesses(graph: Graph, types: Types) -> Iterator[dict[str, Shape]]:
    """Shapes of data to try in turn, none of which contradicts those that the net states."""
    shapeless = [node.layer for node in graph.nodes if not node.bottoms and not stated_shapes(node.layer)]
    images = {layer.top[0]: shapes[0] for layer in shapeless if (shapes := _data_shapes(layer, types))}
    for item in _ITEMS:
        guess = {name: (item[0], *shape[2:]) if _states_size(shape) else item for name, shape in images.items()}
        if guess:
            yield guess
    yield from _as_predicted(graph, types, {top for layer in shapeless for top in layer.top[1:]})


def _data_shapes(layer: pb.LayerParameter, types: Types) -> list[Shape]:
    """The shapes of a data layer's tops by its settings; none for other layers, or if the settings are wrong."""
    kind, alone = type_of(Node(layer, (), ()), types), pb.LayerParameter()
    alone.CopyFrom(layer)
    try:
        return kind(alone, []).top_shapes([]) if kind is not None and issubclass(kind, BringsData) else []
    except NetError:
        return []


def _states_size(shape: Shape) -> bool:
    return len(shape) == 4 and shape[2:] != (TYPICAL_SIDE, TYPICAL_SIDE)


def _as_predicted(graph: Graph, types: Types, labels: set[str]) -> Iterator[dict[str, Shape]]:
    """Shapes of labels that have the shape of the prediction, rather than one number for each item."""
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
