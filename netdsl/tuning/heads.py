"""The heads of a net: the layers whose outputs are the classes that it tells apart."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Layer, Loss
from netdsl.layers import type_of
from netdsl.model.deploy.deploy_layers import settings_field
from netdsl.model.model import Model
from netdsl.net.graph import Graph, Node

OUTPUTS = "num_output"  # in the settings of every type whose outputs are a matter of choice


def head_names(model: Model) -> list[str]:
    """The names of a net's heads, which make what losses compare with labels or, if there are none, the net's outputs.

    A net with losses that only help training, as GoogLeNet has, has a head for each.
    """
    edges = [(graph, edge) for graph in model.graphs for edge in _compared(graph)]
    if not edges:
        edges = [(graph, edge) for graph in model.graphs[:1] for edge in graph.outputs]
    heads = (_head(graph, edge) for graph, edge in edges)
    return list(dict.fromkeys(head for head in heads if head is not None))


def _compared(graph: Graph) -> list[int]:
    """What losses compare with labels."""
    return [
        node.bottoms[place]
        for node in graph.nodes
        for kind in [type_of(node.layer)]
        if kind is not None and issubclass(kind, Loss) and len(node.bottoms) > 1
        for place in kind.predictions
        if place < len(node.bottoms)
    ]


def _head(graph: Graph, edge: int) -> str | None:
    """The nearest layer above a blob that makes a chosen number of outputs; None where blobs come together before."""
    makers = {top: node for node in graph.nodes for top in node.tops}
    node: Node | None = makers.get(edge)
    while node is not None and node.bottoms:
        if outputs_field(node.layer, type_of(node.layer)) is not None:
            return node.layer.name
        if len(node.bottoms) > 1:
            return None
        node = makers.get(node.bottoms[0])
    return None


def outputs_field(layer: pb.LayerParameter, kind: type[Layer] | None) -> str | None:
    """The settings of a layer that say how many outputs it learns; None if it has none that do."""
    if kind is None or not kind.blobs or kind.config is None or OUTPUTS not in kind.config.DESCRIPTOR.fields_by_name:
        return None
    return settings_field(layer, kind)
