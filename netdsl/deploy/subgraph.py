"""The part of a net that predicts: the layers that make what is wanted of every row, and no others."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from caffe_proto import caffe_pb2 as pb
from netdsl.deploy.deploy_layers import cleaned
from netdsl.deploy.predictions import PredictingGraph
from netdsl.errors import GraphError
from netdsl.layers import LAYERS
from netdsl.net.build import Built, Types, build
from netdsl.net.graph import Graph, Node, Phase, resolve_all
from netdsl.prediction.net_inputs import NetInput, inputs_of

_PREDICTION = "(prediction)"  # a layer in the place of a loss


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
    predicting = PredictingGraph.of(graphs, types)
    outputs = {name: _edge(graph, name) for name in blobs}
    prediction, added = _prediction(predicting)
    ends = {*outputs.values(), *(() if prediction is None else added.bottoms if added else (prediction,))}
    graph.nodes = [*predicting.needed_layers(ends).values(), *([added] if added else [])]
    wanted = {*outputs.values(), *(() if prediction is None else (prediction,))}
    graph.outputs = sorted(wanted)
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


def _prediction(predicting: PredictingGraph) -> tuple[int | None, Node | None]:
    """The edge of what is predicted, and the layer that has to be added to make it."""
    graph = predicting.graph
    for prediction in (*predicting.losses, *predicting.measures):
        if prediction.is_single and prediction.layer is None:
            return prediction.edges[0], None
        if prediction.is_single and prediction.layer is not None:
            layer = cleaned(prediction.layer)
            layer.name, layer.top[:] = _PREDICTION, [_PREDICTION]
            layer.phase = pb.TEST
            graph.blobs.append(_PREDICTION)
            edge = len(graph.blobs) - 1
            return edge, Node(layer, prediction.edges, (edge,))
    return (predicting.outputs[0] if len(predicting.outputs) == 1 else None), None
