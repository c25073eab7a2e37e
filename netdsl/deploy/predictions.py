"""What a net predicts: which of its losses count, what they become, and which layers that takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from caffe_proto import caffe_pb2 as pb
from netdsl.deploy.deploy_layers import instead, predicting
from netdsl.layer import BringsData, Layer, Loss, NotDeployed
from netdsl.layer.user_code import RunsUserCode
from netdsl.net.build import Types, type_of
from netdsl.net.graph import Graph, Node

Kind = type[Layer] | None
TypedNode = tuple[int, Node, type[Layer]]  # the index of a layer in its graph, the layer, and its type


@dataclass(frozen=True)
class Prediction:
    """What a loss, or a measure, compares with labels: blobs as they are, or a layer that has to be added."""

    place: int  # the index of the layer in whose place it is
    edges: tuple[int, ...]  # the blobs; with a layer, the one that it reads
    layer: pb.LayerParameter | None = None  # what the loss does to its bottom before it compares
    is_single: bool = True  # whether this is all that is predicted there


@dataclass
class PredictingGraph:
    """A graph with what it predicts. The layers in `removed` only train, measure or write, or read what those make."""

    graph: Graph
    types: Types
    kinds: list[Kind]
    learned: set[int] = field(default_factory=set)  # edges that depend on layers that learn
    removed: set[int] = field(default_factory=set)
    losses: list[Prediction] = field(default_factory=list)  # those that weigh most first, and of these the last
    measures: list[Prediction] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)  # what else the net ends in

    @classmethod
    def of(cls, graphs: Sequence[Graph], types: Types) -> PredictingGraph:
        """The first of a net's graphs. Where it has no loss, the losses of the others tell what it predicts."""
        predicting = cls(graphs[0], types, _kinds(graphs[0], types))
        predicting._find_learned()
        predicting._find_removed()
        predicting._find_losses(graphs)
        predicting._find_measures()
        predicting._find_outputs()
        return predicting

    def _find_learned(self) -> None:
        """A layer of an unknown type, or with code of its own, may learn too."""
        for node, kind in zip(self.graph.nodes, self.kinds, strict=True):
            learns = bool(node.bottoms) if kind is None or issubclass(kind, RunsUserCode) else bool(kind.blobs)
            if learns or self.learned.intersection(node.bottoms):
                self.learned.update(node.tops)

    def _find_removed(self) -> None:
        gone: set[int] = set()
        for index, (node, kind) in enumerate(zip(self.graph.nodes, self.kinds, strict=True)):
            if (kind is not None and issubclass(kind, NotDeployed)) or gone.intersection(node.bottoms):
                self.removed.add(index)
                gone.update(node.tops)

    def _find_losses(self, graphs: Sequence[Graph]) -> None:
        for graph in graphs:
            for index, node, kind in _heaviest(_losses(graph, self.types)):
                place, edges = index, _compared(node, kind)
                if graph is not self.graph:
                    names = [graph.blobs[edge] for edge in edges]
                    place = len(self.graph.nodes) + index
                    edges = [edge for name in names for edge in self._last_edge(name) if edge in self.learned]
                if edges:
                    self.losses.append(self._predicted(place, edges, node, kind))
            if self.losses:
                return

    def _last_edge(self, name: str) -> list[int]:
        """What a name means at the end of the graph, if anything."""
        return [edge for edge, blob in enumerate(self.graph.blobs) if blob == name][-1:]

    def _predicted(self, place: int, edges: Sequence[int], loss: Node, kind: type[Layer]) -> Prediction:
        """A loss's prediction: by a layer that the net has already, if there is one."""
        learned = [edge for edge in edges if edge in self.learned]
        edges, single = learned or edges[:1], len(learned) == 1
        if kind.deploys_as is None:
            return Prediction(place, tuple(edges), is_single=single)
        for index, node in enumerate(self.graph.nodes):
            if node.layer.type == kind.deploys_as and node.bottoms == (edges[0],) and index not in self.removed:
                return Prediction(place, node.tops, is_single=single)
        layer = predicting(loss.layer, kind, self.types[kind.deploys_as], self.graph.blobs[edges[0]])
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
        """Outputs that depend on what was learned. Where all that there is is silenced, that is what the net makes."""
        nodes = self.graph.nodes
        outside = {
            edge for node, kind in zip(nodes, self.kinds, strict=True) if is_data(node, kind) for edge in node.tops
        }
        gone = {edge for index in self.removed for edge in nodes[index].tops}
        self.outputs = [edge for edge in self.graph.outputs if edge in self.learned - outside - gone]
        if not (self.outputs or self.losses or self.measures):
            silenced = {edge for index in self.removed for edge in nodes[index].bottoms if edge in self.learned}
            self.outputs = sorted(silenced)

    def needed_layers(self, edges: Collection[int], *, without: Collection[int] = ()) -> dict[int, Node]:
        """The layers that some edges depend on, as they are when the net is used, by their indices and in order."""
        needed, layers = set(edges), dict[int, Node]()
        for index in reversed(range(len(self.graph.nodes))):
            node = self.graph.nodes[index]
            if index not in without and needed.intersection(node.tops):
                layers[index] = self._used(node, self.kinds[index], needed)
                needed.update(layers[index].bottoms)
        return dict(reversed(layers.items()))

    def _used(self, node: Node, kind: Kind, needed: Collection[int]) -> Node:
        """A layer that does something for training only, amid the net, hands its first bottom on without that."""
        if not node.bottoms or kind is None or issubclass(kind, NotDeployed) or kind.deploys_as is None:
            return node
        if any(edge in needed for edge in node.tops[1:]):
            return node
        return Node(instead(node.layer, kind, self.types[kind.deploys_as]), node.bottoms[:1], node.tops[:1])


def _kinds(graph: Graph, types: Types) -> list[Kind]:
    return [type_of(node, types) for node in graph.nodes]


def _compared(node: Node, kind: type[Layer]) -> list[int]:
    """The bottoms of a loss or a measure that are predictions."""
    return [node.bottoms[place] for place in _predictions(kind) if place < len(node.bottoms)]


def is_data(node: Node, kind: Kind) -> bool:
    """Whether a layer brings data: by its type, or as private code that reads nothing."""
    return not node.bottoms and (kind is None or issubclass(kind, (BringsData, RunsUserCode)))


def _predictions(kind: type[Layer]) -> tuple[int, ...]:
    """The places of the bottoms that are predictions."""
    return kind.predictions if issubclass(kind, NotDeployed) else ()


def _losses(graph: Graph, types: Types) -> list[TypedNode]:
    pairs = enumerate(zip(graph.nodes, _kinds(graph, types), strict=True))
    return [(index, node, kind) for index, (node, kind) in pairs if kind is not None and issubclass(kind, Loss)]


def _heaviest(losses: Sequence[TypedNode]) -> list[TypedNode]:
    """The losses that count: of those with the same labels the ones that weigh most; others only helped to train."""
    most: dict[tuple[int, ...], float] = {}
    for _, node, kind in losses:
        labels = _labels(node, kind)
        most[labels] = max(most.get(labels, 0.0), _weight(node))
    counting = [loss for loss in losses if _weight(loss[1]) >= most[_labels(loss[1], loss[2])]]
    return sorted(counting, key=lambda loss: (-_weight(loss[1]), -loss[0]))


def _weight(loss: Node) -> float:
    return loss.layer.loss_weight[0] if loss.layer.loss_weight else 1.0


def _labels(loss: Node, kind: type[Layer]) -> tuple[int, ...]:
    """The bottoms of a loss that aren't predictions; where all can be, the last."""
    rest = tuple(edge for place, edge in enumerate(loss.bottoms) if place not in _predictions(kind))
    return rest or loss.bottoms[-1:]
