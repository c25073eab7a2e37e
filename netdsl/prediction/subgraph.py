"""The subgraph of a net that predicts: only the layers that the requested blobs of each row depend on."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import GraphError
from netdsl.model.data_shapes import with_typical_shapes
from netdsl.model.deploy.deploy_layers import deploy_layer
from netdsl.model.deploy.predictions import PredictingGraph
from netdsl.net.build import Built, build
from netdsl.net.graph import Graph, Node, Phase, resolve_all
from netdsl.prediction.net_inputs import NetInput, inputs_of

_PREDICTION = "(prediction)"  # the name of a layer in place of a loss


@dataclass(frozen=True)
class PredictionSubgraph:
    """A net of some layers, with the edges of its inputs, of the requested blobs, and of the prediction."""

    built: Built
    inputs: tuple[int, ...]
    outputs: dict[str, int]
    prediction: int | None

    @property
    def batch(self) -> int:
        """The batch size that the net states."""
        return next((self.built.shapes[edge][0] for edge in self.inputs if self.built.shapes[edge]), 1)

    def net_inputs(self, columns: Mapping[str, str]) -> list[NetInput]:
        """The inputs that the subgraph needs, with their columns."""
        return [net_input for net_input in inputs_of(self.built, columns) if net_input.edge in self.inputs]

    def values(self, edge: int) -> int:
        """The number of values that a blob has for a row."""
        return math.prod(self.built.shapes[edge][1:])

    def classes(self) -> int:
        """The number of predicted classes; 0 if the prediction isn't a vector for each row."""
        shape = () if self.prediction is None else self.built.shapes[self.prediction]
        return shape[1] if shape[:1] == (self.batch,) and len(shape) > 1 and math.prod(shape[2:]) == 1 else 0


def prediction_subgraph(net: pb.NetParameter, blobs: Collection[str]) -> PredictionSubgraph:
    """The subgraph of a net's TEST phase, or of TRAIN if it has no other, that computes some blobs and the prediction.

    Losses become their predictions, as in deploy nets. The prediction of a net without losses is what it measures, or
    else its only output.
    """
    graphs = resolve_all(with_typical_shapes(net))
    if not graphs:
        raise GraphError(f"net '{net.name}' has no layers")
    graph = _for_testing(graphs[0])
    predicting = PredictingGraph.of(graphs)
    outputs = {name: graph.edge_of(name) for name in blobs}
    prediction, new_node = _prediction(predicting)
    ends = {*outputs.values(), *(() if prediction is None else new_node.bottoms if new_node else (prediction,))}
    graph.nodes = [*predicting.needed_layers(ends).values(), *([new_node] if new_node else [])]
    output_edges = {*outputs.values(), *(() if prediction is None else (prediction,))}
    graph.outputs = sorted(output_edges)
    read = output_edges.union(*(node.bottoms for node in graph.nodes))
    built = build(graph)
    inputs = tuple(edge for edge in built.input_edges() if edge in read)
    return PredictionSubgraph(built, inputs, outputs, prediction)


def _for_testing(graph: Graph) -> Graph:
    """The graph with its layers in the TEST phase, also if it is one for training."""
    graph.phase = Phase.TEST
    for node in graph.nodes:
        node.layer.phase = pb.TEST
    return graph


def _prediction(predicting: PredictingGraph) -> tuple[int | None, Node | None]:
    """The edge of the prediction, and the layer that has to be added for it, if any."""
    graph = predicting.graph
    for prediction in (*predicting.losses, *predicting.measures):
        if prediction.is_single and prediction.layer is None:
            return prediction.edges[0], None
        if prediction.is_single and prediction.layer is not None:
            layer = deploy_layer(prediction.layer)
            layer.name, layer.top[:] = _PREDICTION, [_PREDICTION]
            layer.phase = pb.TEST
            graph.blobs.append(_PREDICTION)
            edge = len(graph.blobs) - 1
            return edge, Node(layer, prediction.edges, (edge,))
    return (predicting.outputs[0] if len(predicting.outputs) == 1 else None), None
