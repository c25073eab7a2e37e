"""The part of a net that predicts: the layers that make what is wanted of every row, and no others."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import GraphError
from netdsl.layer import Layer, Loss, NotDeployed
from netdsl.layer.user_code import RunsUserCode
from netdsl.layers import LAYERS
from netdsl.net.build import Built, Types, build, type_of
from netdsl.net.graph import Graph, Node, Phase, resolve_all
from netdsl.prediction.blobs import NetInput, inputs_of

_PREDICTION = "(prediction)"  # a layer in the place of a loss
_TRAINING = ("include", "exclude", "loss_weight", "loss_param", "propagate_down", "param")

Pairs = list[tuple[Node, type[Layer]]]


@dataclass(frozen=True)
class PredictionSubgraph:
    """A net of some layers only, with the edges that it needs, those that are asked for, and what it is all about."""

    built: Built
    inputs: tuple[int, ...]
    outputs: dict[str, int]
    prediction: int | None

    @property
    def batch(self) -> int:
        """How many rows the net was made for at once."""
        return next((self.built.shapes[edge][0] for edge in self.inputs if self.built.shapes[edge]), 1)

    def needed(self, columns: Mapping[str, str]) -> list[NetInput]:
        """The blobs that it needs from outside, with their columns."""
        return [each for each in inputs_of(self.built, columns) if each.edge in self.inputs]

    def values(self, edge: int) -> int:
        """How many values a row has."""
        return math.prod(self.built.shapes[edge][1:])

    def classes(self) -> int:
        """How many numbers a prediction has; 0 if it isn't a row of numbers for each item."""
        shape = () if self.prediction is None else self.built.shapes[self.prediction]
        return shape[1] if shape[:1] == (self.batch,) and len(shape) > 1 and math.prod(shape[2:]) == 1 else 0


def prediction_subgraph(net: pb.NetParameter, blobs: Collection[str], types: Types = LAYERS) -> PredictionSubgraph:
    """The layers of a net's TEST phase, or of TRAIN if it has no other, that make some blobs and the prediction.

    A loss gives way to what it makes of predictions itself, as in deploy nets. What a net without losses predicts is
    what it measures, or else its only output.
    """
    graphs = resolve_all(net)
    if not graphs:
        raise GraphError(f"net '{net.name}' has no layers")
    graph = _for_testing(graphs[0])
    prediction = _predict(graphs, types)
    outputs = {name: _edge(graph, name) for name in blobs}
    wanted = {*outputs.values(), *(() if prediction is None else (prediction,))}
    graph.nodes, graph.outputs = _needed(graph, wanted), sorted(wanted)
    read = wanted.union(*(node.bottoms for node in graph.nodes))
    built = build(graph, types)
    inputs = tuple(edge for edge in built.input_edges() if edge in read)
    return PredictionSubgraph(built, inputs, outputs, prediction)


def _for_testing(graph: Graph) -> Graph:
    """A graph whose layers do as in tests, also where it is one for training."""
    graph.phase = Phase.TEST
    for node in graph.nodes:
        node.layer.phase = pb.TEST
    return graph


def _edge(graph: Graph, name: str) -> int:
    """Caffe's rule: the name of a blob that layers work on in place means what the last of them leaves."""
    if name not in graph.blobs:
        blobs = ", ".join(dict.fromkeys(graph.blobs))
        raise GraphError(f"net '{graph.net.name}' makes no blob '{name}'; its blobs are {blobs}")
    return len(graph.blobs) - 1 - graph.blobs[::-1].index(name)


def _pairs(graph: Graph, types: Types) -> Pairs:
    """The layers whose types are known; about others, building the net says more."""
    return [(node, kind) for node in graph.nodes if (kind := type_of(node, types)) is not None]


def _predict(graphs: Sequence[Graph], types: Types) -> int | None:
    """The edge of what is predicted."""
    graph = graphs[0]
    pairs = _pairs(graph, types)
    learned = _learned(pairs)
    losses = [(node, kind) for each in graphs for node, kind in _losses(_pairs(each, types))]
    measures = [(node, kind) for node, kind in pairs if _predictions(kind) and not issubclass(kind, Loss)]
    for node, kind in losses + measures:
        names = [node.layer.bottom[place] for place in _predictions(kind) if place < len(node.bottoms)]
        edges = [edge for name in names if name in graph.blobs and (edge := _edge(graph, name)) in learned]
        if len(edges) == 1:
            return _added(graph, node, kind.deploys_as, edges[0]) if kind.deploys_as else edges[0]
    made = [edge for node, kind in pairs if not issubclass(kind, NotDeployed) for edge in node.tops]
    ends = [edge for edge in graph.outputs if edge in learned and edge in made]
    return ends[0] if len(ends) == 1 else None


def _predictions(kind: type[Layer]) -> tuple[int, ...]:
    return kind.predictions if issubclass(kind, NotDeployed) else ()


def _losses(pairs: Pairs) -> Pairs:
    """Those that weigh most first, and of these the last."""
    found = [(node, kind) for node, kind in reversed(pairs) if issubclass(kind, Loss)]
    return sorted(found, key=lambda pair: -(pair[0].layer.loss_weight[0] if pair[0].layer.loss_weight else 1.0))


def _learned(pairs: Pairs) -> set[int]:
    """The edges that depend on layers that learn."""
    found: set[int] = set()
    for node, kind in pairs:
        if kind.blobs or issubclass(kind, RunsUserCode) or found.intersection(node.bottoms):
            found.update(node.tops)
    return found


def _added(graph: Graph, loss: Node, kind: str, edge: int) -> int:
    """The top of a new layer, with the settings of a loss."""
    layer = pb.LayerParameter()
    layer.CopyFrom(loss.layer)
    for name in _TRAINING:
        layer.ClearField(name)
    layer.name, layer.type = _PREDICTION, kind
    layer.bottom[:], layer.top[:] = [graph.blobs[edge]], [_PREDICTION]
    graph.blobs.append(_PREDICTION)
    graph.nodes.append(Node(layer, (edge,), (len(graph.blobs) - 1,)))
    return len(graph.blobs) - 1


def _needed(graph: Graph, wanted: Collection[int]) -> list[Node]:
    """The layers that wanted edges depend on."""
    return list(reversed([*_backwards(graph, set(wanted))]))


def _backwards(graph: Graph, wanted: set[int]) -> Iterator[Node]:
    for node in reversed(graph.nodes):
        if wanted.intersection(node.tops):
            wanted.update(node.bottoms)
            yield node
