"""Finds the predictions of a net: the losses that count, their predictions, and the layers that these need."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import BringsData, Layer, Loss, NotDeployed
from netdsl.layer.user_code import RunsUserCode
from netdsl.layers import LAYERS, type_of
from netdsl.model.deploy.deploy_layers import prediction_layer, replacement_layer
from netdsl.net.graph import Graph, Node

Kind = type[Layer] | None
LossNode = tuple[int, Node, type[Loss]]  # the index of a loss in its graph, its node, and its type


@dataclass(frozen=True)
class Prediction:
    """The prediction that a loss or a measure compares with labels. It consists of existing blobs or a layer to be
    added."""

    place: int  # the index of the loss or the measure
    edges: tuple[int, ...]  # the predicted blobs, or the blob that `layer` reads
    layer: pb.LayerParameter | None = None  # the first step of the loss, before it compares
    is_single: bool = True  # whether this is the only prediction there


def loss_predictions(graphs: Sequence[Graph]) -> list[Prediction]:
    """Return the predictions of the losses in the first of a net's graphs.

    The heaviest loss comes first, and equal losses are ordered from last to first. If the first graph doesn't have a
    loss, the losses of the others are used. An exception is a graph that measures a result computed from the losses'
    predictions, such as a detector's boxes.
    """
    first, found = graphs[0], list[Prediction]()
    learned = _learned_edges(first)
    for graph in graphs:
        for index, node, kind in _heaviest(_losses(graph)):
            place, edges = index, _compared(node, kind)
            if graph is not first:
                names = [graph.blobs[edge] for edge in edges]
                place = len(first.nodes) + index
                edges = [edge for name in names for edge in _last_edge(first, name) if edge in learned]
                edges = [] if _measures_more(first, edges) else edges
            if edges:
                found.append(_prediction(first, place, edges, node, kind))
        if found:
            break
    return found


def measured_predictions(graph: Graph) -> list[Prediction]:
    """Return the predictions that a graph measures, for example with an accuracy layer."""
    learned, kinds, found = _learned_edges(graph), kinds_of(graph), list[Prediction]()
    for index in sorted(removed_layers(graph)):
        node, kind = graph.nodes[index], kinds[index]
        if kind is None or issubclass(kind, Loss):
            continue
        edges = _compared(node, kind)
        own = [edge for edge in edges if edge in learned]
        if edges:
            found.append(Prediction(index, tuple(own or edges[:1]), is_single=len(own) == 1))
    return found


def other_outputs(graphs: Sequence[Graph]) -> list[int]:
    """Return the first graph's outputs that depend on layers that learn, without losses and measures.

    If there are none and nothing is predicted or measured, the result contains the blobs that the graph silences.
    """
    graph, learned = graphs[0], _learned_edges(graphs[0])
    nodes, removed = graph.nodes, removed_layers(graph)
    data_edges = {
        edge for node, kind in zip(nodes, kinds_of(graph), strict=True) if is_data(node, kind) for edge in node.tops
    }
    removed_edges = {edge for index in removed for edge in nodes[index].tops}
    outputs = [edge for edge in graph.outputs if edge in learned - data_edges - removed_edges]
    if outputs or loss_predictions(graphs) or measured_predictions(graph):
        return outputs
    return sorted({edge for index in removed for edge in nodes[index].bottoms if edge in learned})


def removed_layers(graph: Graph) -> set[int]:
    """Return the indices of layers that only train, measure or write, or that depend on such layers."""
    removed, edges = set[int](), set[int]()
    for index, (node, kind) in enumerate(zip(graph.nodes, kinds_of(graph), strict=True)):
        if (kind is not None and issubclass(kind, NotDeployed)) or edges.intersection(node.bottoms):
            removed.add(index)
            edges.update(node.tops)
    return removed


def needed_layers(graph: Graph, edges: Collection[int], *, without: Collection[int] = ()) -> dict[int, Node]:
    """Return the deployed layers that some edges depend on, by index and in order."""
    needed, layers, kinds = set(edges), dict[int, Node](), kinds_of(graph)
    for index in reversed(range(len(graph.nodes))):
        node = graph.nodes[index]
        if index not in without and needed.intersection(node.tops):
            layers[index] = _deployed_node(node, kinds[index], needed)
            needed.update(layers[index].bottoms)
    return dict(reversed(layers.items()))


def _deployed_node(node: Node, kind: Kind, needed: Collection[int]) -> Node:
    """Return the node itself, or the replacement if the layer acts only in training."""
    if not node.bottoms or kind is None or issubclass(kind, NotDeployed) or kind.deploys_as is None:
        return node
    if any(edge in needed for edge in node.tops[1:]):
        return node
    return Node(replacement_layer(node.layer, kind, LAYERS[kind.deploys_as]), node.bottoms[:1], node.tops[:1])


def _learned_edges(graph: Graph) -> set[int]:
    """Return the edges that depend on layers that learn. Layers of unknown types and with private code may learn."""
    learned = set[int]()
    for node, kind in zip(graph.nodes, kinds_of(graph), strict=True):
        learns = bool(node.bottoms) if kind is None or issubclass(kind, RunsUserCode) else bool(kind.blobs)
        if learns or learned.intersection(node.bottoms):
            learned.update(node.tops)
    return learned


def _measures_more(graph: Graph, edges: Collection[int]) -> bool:
    """Return whether the graph measures values that other layers compute from some edges."""
    measured = {edge for measure in measured_predictions(graph) for edge in measure.edges}.difference(edges)
    return any(set(edges).intersection(node.bottoms) for node in needed_layers(graph, measured).values())


def _last_edge(graph: Graph, name: str) -> list[int]:
    """Return the edge that a name refers to at the end of the graph, in a list that may be empty."""
    return [edge for edge, blob in enumerate(graph.blobs) if blob == name][-1:]


def _prediction(graph: Graph, place: int, edges: Sequence[int], loss: Node, kind: type[Layer]) -> Prediction:
    """Return the prediction of a loss. It uses a layer of the graph if there is a suitable one."""
    learned_edges, removed = _learned_edges(graph), removed_layers(graph)
    learned = [edge for edge in edges if edge in learned_edges]
    edges, single = learned or edges[:1], len(learned) == 1
    if kind.deploys_as is None:
        return Prediction(place, tuple(edges), is_single=single)
    for index, node in enumerate(graph.nodes):
        if node.layer.type == kind.deploys_as and node.bottoms == (edges[0],) and index not in removed:
            return Prediction(place, node.tops, is_single=single)
    layer = prediction_layer(loss.layer, kind, LAYERS[kind.deploys_as], graph.blobs[edges[0]])
    return Prediction(place, (edges[0],), layer, single)


def kinds_of(graph: Graph) -> list[Kind]:
    """Return the types of a graph's layers. Unknown types are `None`."""
    return [type_of(node.layer) for node in graph.nodes]


def _compared(node: Node, kind: type[Layer]) -> list[int]:
    """Return the bottoms of a loss or a measure that are predictions."""
    return [node.bottoms[place] for place in _predictions(kind) if place < len(node.bottoms)]


def is_data(node: Node, kind: Kind) -> bool:
    """Return whether a layer produces data, either by its type or as private code without bottoms."""
    return not node.bottoms and (kind is None or issubclass(kind, (BringsData, RunsUserCode)))


def _predictions(kind: type[Layer]) -> tuple[int, ...]:
    """Return the indices of the bottoms that are predictions."""
    return kind.predictions if issubclass(kind, NotDeployed) else ()


def _losses(graph: Graph) -> list[LossNode]:
    pairs = enumerate(zip(graph.nodes, kinds_of(graph), strict=True))
    return [(index, node, kind) for index, (node, kind) in pairs if kind is not None and issubclass(kind, Loss)]


def _heaviest(losses: Sequence[LossNode]) -> list[LossNode]:
    """Return the losses that count.

    Among losses with the same labels, these have the largest weight. The others only help training.
    """
    largest: dict[tuple[int, ...], float] = {}
    for loss in losses:
        labels = _labels(loss)
        largest[labels] = max(largest.get(labels, 0.0), _weight(loss))
    counting = [loss for loss in losses if _weight(loss) >= largest[_labels(loss)]]
    return sorted(counting, key=lambda loss: (-_weight(loss), -loss[0]))


def _weight(loss: LossNode) -> float:
    _, node, kind = loss
    return node.layer.loss_weight[0] if node.layer.loss_weight else kind.unset_weight


def _labels(loss: LossNode) -> tuple[int, ...]:
    """Return the bottoms of a loss that aren't predictions. If all can be predictions, this is the last one."""
    _, node, kind = loss
    labels = tuple(edge for place, edge in enumerate(node.bottoms) if place not in kind.predictions)
    return labels or node.bottoms[-1:]
