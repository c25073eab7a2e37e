"""The event that a net is built, with what its log tells of it."""

from __future__ import annotations

from netdsl.layer import Layer
from netdsl.net.build import AUTOMATIC, Built
from netdsl.net.graph import Node
from netdsl.solver.events import CreatedLayer, NetCreated


def net_created(built: Built, source: str, *, test: int | None = None) -> NetCreated:
    """The event for a net from a source, which may be a test net with a number."""
    outputs = {built.graph.blobs[edge] for edge in built.graph.outputs} - {AUTOMATIC}
    layers = tuple(_layer(built, node, layer) for node, layer in built.pairs())
    return NetCreated(source, test, layers, tuple(sorted(outputs, key=str.encode)))


def _layer(built: Built, node: Node, layer: Layer) -> CreatedLayer:
    shapes = tuple(tuple(built.shapes[edge]) for edge in node.tops)
    tops = tuple(built.graph.blobs[edge] for edge in node.tops)
    return CreatedLayer(node.layer.name, tuple(node.layer.bottom), tops, shapes, tuple(layer.loss_weights()))
