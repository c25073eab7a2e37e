"""The predictions of a net: which of its losses count, what they become, and which layers that needs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import BringsData, Layer, Loss, NotDeployed
from netdsl.layer.user_code import RunsUserCode
from netdsl.layers import LAYERS, type_of
from netdsl.model.deploy.deploy_layers import prediction_layer, replacement_layer
from netdsl.net.graph import Graph, Node

Kind = type[Layer] | None
TypedNode = tuple[int, Node, type[Layer]]  # the index of a layer in its graph, the layer, and its type


@dataclass(frozen=True)
class Prediction:
    """The prediction that a loss or a measure compares with labels: existing blobs, or a layer to be added."""

    place: int  # the index of the loss or the measure
    edges: tuple[int, ...]  # the predicted blobs; with a layer, the one that it reads
    layer: pb.LayerParameter | None = None  # the first step of the loss, before it compares
    is_single: bool = True  # whether nothing else is predicted there


@dataclass
class PredictingGraph:
    """A graph with its predictions. The layers in `removed` only train, measure or write, or depend on such layers."""

    graph: Graph
    kinds: list[Kind]
    learned: set[int] = field(default_factory=set)  # edges that depend on layers that learn
    removed: set[int] = field(default_factory=set)
    losses: list[Prediction] = field(default_factory=list)  # the heaviest first, and of equal ones the last
    measures: list[Prediction] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)  # the other outputs of the net

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> PredictingGraph:
        """The first of a net's graphs, with its predictions, which are those of the other graphs if it has no loss.

        Not if it measures what it makes of them, as a detector's boxes are made of the values that its loss compares.
        """
        graph = cls(graphs[0], _kinds(graphs[0]))
        graph._find_learned()
        graph._find_removed()
        graph._find_measures()
        graph._find_losses(graphs)
        graph._find_outputs()
        return graph

    def _find_learned(self) -> None:
        """Find the edges that depend on layers that learn, as layers of unknown types or with private code may."""
        for node, kind in zip(self.graph.nodes, self.kinds, strict=True):
            learns = bool(node.bottoms) if kind is None or issubclass(kind, RunsUserCode) else bool(kind.blobs)
            if learns or self.learned.intersection(node.bottoms):
                self.learned.update(node.tops)

    def _find_removed(self) -> None:
        removed_edges: set[int] = set()
        for index, (node, kind) in enumerate(zip(self.graph.nodes, self.kinds, strict=True)):
            if (kind is not None and issubclass(kind, NotDeployed)) or removed_edges.intersection(node.bottoms):
                self.removed.add(index)
                removed_edges.update(node.tops)

    def _find_losses(self, graphs: Sequence[Graph]) -> None:
        for graph in graphs:
            for index, node, kind in _heaviest(_losses(graph)):
                place, edges = index, _compared(node, kind)
                if graph is not self.graph:
                    names = [graph.blobs[edge] for edge in edges]
                    place = len(self.graph.nodes) + index
                    edges = [edge for name in names for edge in self._last_edge(name) if edge in self.learned]
                    edges = [] if self._measures_more(edges) else edges
                if edges:
                    self.losses.append(self._prediction(place, edges, node, kind))
            if self.losses:
                return

    def _measures_more(self, edges: Collection[int]) -> bool:
        """Whether something is measured that other layers make of some edges."""
        measured = {edge for measure in self.measures for edge in measure.edges}.difference(edges)
        return any(set(edges).intersection(node.bottoms) for node in self.needed_layers(measured).values())

    def _last_edge(self, name: str) -> list[int]:
        """The edge that a name means at the end of the graph, if there is one."""
        return [edge for edge, blob in enumerate(self.graph.blobs) if blob == name][-1:]

    def _prediction(self, place: int, edges: Sequence[int], loss: Node, kind: type[Layer]) -> Prediction:
        """The prediction of a loss, by a layer that the net has already if there is one."""
        learned = [edge for edge in edges if edge in self.learned]
        edges, single = learned or edges[:1], len(learned) == 1
        if kind.deploys_as is None:
            return Prediction(place, tuple(edges), is_single=single)
        for index, node in enumerate(self.graph.nodes):
            if node.layer.type == kind.deploys_as and node.bottoms == (edges[0],) and index not in self.removed:
                return Prediction(place, node.tops, is_single=single)
        layer = prediction_layer(loss.layer, kind, LAYERS[kind.deploys_as], self.graph.blobs[edges[0]])
        return Prediction(place, (edges[0],), layer, single)

    def _find_measures(self) -> None:
        for index in sorted(self.removed):
            node, kind = self.graph.nodes[index], self.kinds[index]
            if kind is None or issubclass(kind, Loss):
                continue
            edges = _compared(node, kind)
            learned = [edge for edge in edges if edge in self.learned]
            if edges:
                self.measures.append(Prediction(index, tuple(learned or edges[:1]), is_single=len(learned) == 1))

    def _find_outputs(self) -> None:
        """Find outputs that depend on layers that learn; if there are no predictions either, also silenced blobs."""
        nodes = self.graph.nodes
        data_edges = {
            edge for node, kind in zip(nodes, self.kinds, strict=True) if is_data(node, kind) for edge in node.tops
        }
        removed_edges = {edge for index in self.removed for edge in nodes[index].tops}
        self.outputs = [edge for edge in self.graph.outputs if edge in self.learned - data_edges - removed_edges]
        if not (self.outputs or self.losses or self.measures):
            silenced = {edge for index in self.removed for edge in nodes[index].bottoms if edge in self.learned}
            self.outputs = sorted(silenced)

    def needed_layers(self, edges: Collection[int], *, without: Collection[int] = ()) -> dict[int, Node]:
        """The layers that some edges depend on, as they are deployed, by their indices and in order."""
        needed, layers = set(edges), dict[int, Node]()
        for index in reversed(range(len(self.graph.nodes))):
            node = self.graph.nodes[index]
            if index not in without and needed.intersection(node.tops):
                layers[index] = self._deployed_node(node, self.kinds[index], needed)
                needed.update(layers[index].bottoms)
        return dict(reversed(layers.items()))

    def _deployed_node(self, node: Node, kind: Kind, needed: Collection[int]) -> Node:
        """The node itself, or the replacement of a layer that acts in training only."""
        if not node.bottoms or kind is None or issubclass(kind, NotDeployed) or kind.deploys_as is None:
            return node
        if any(edge in needed for edge in node.tops[1:]):
            return node
        return Node(replacement_layer(node.layer, kind, LAYERS[kind.deploys_as]), node.bottoms[:1], node.tops[:1])


def _kinds(graph: Graph) -> list[Kind]:
    return [type_of(node.layer) for node in graph.nodes]


def _compared(node: Node, kind: type[Layer]) -> list[int]:
    """The bottoms of a loss or a measure that are predictions."""
    return [node.bottoms[place] for place in _predictions(kind) if place < len(node.bottoms)]


def is_data(node: Node, kind: Kind) -> bool:
    """Whether a layer brings data, by its type or as private code without bottoms."""
    return not node.bottoms and (kind is None or issubclass(kind, (BringsData, RunsUserCode)))


def _predictions(kind: type[Layer]) -> tuple[int, ...]:
    """The indices of the bottoms that are predictions."""
    return kind.predictions if issubclass(kind, NotDeployed) else ()


def _losses(graph: Graph) -> list[TypedNode]:
    pairs = enumerate(zip(graph.nodes, _kinds(graph), strict=True))
    return [(index, node, kind) for index, (node, kind) in pairs if kind is not None and issubclass(kind, Loss)]


def _heaviest(losses: Sequence[TypedNode]) -> list[TypedNode]:
    """The losses that count: those of the largest weight among all with the same labels; others only help training."""
    largest: dict[tuple[int, ...], float] = {}
    for _, node, kind in losses:
        labels = _labels(node, kind)
        largest[labels] = max(largest.get(labels, 0.0), _weight(node))
    counting = [loss for loss in losses if _weight(loss[1]) >= largest[_labels(loss[1], loss[2])]]
    return sorted(counting, key=lambda loss: (-_weight(loss[1]), -loss[0]))


def _weight(loss: Node) -> float:
    return loss.layer.loss_weight[0] if loss.layer.loss_weight else 1.0


def _labels(loss: Node, kind: type[Layer]) -> tuple[int, ...]:
    """The bottoms of a loss that aren't predictions; the last one if all can be."""
    labels = tuple(edge for place, edge in enumerate(loss.bottoms) if place not in _predictions(kind))
    return labels or loss.bottoms[-1:]
