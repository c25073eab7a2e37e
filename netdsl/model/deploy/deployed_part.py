"""Separates the part of a test net that its deploy net computes from the layers that run after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from netdsl.errors import NetError
from netdsl.layer.deploying import HasInverse
from netdsl.net.build import Built
from netdsl.net.graph import Graph


@dataclass(frozen=True)
class DeployedPart:
    """The blobs of a test net that are known from the outputs of its deploy net.

    These are the outputs themselves and, since losses and accuracies read scores, the scores from which the deploy net
    computes probabilities.
    """

    built: Built  # the test net
    edges: Mapping[str, int]  # the outputs' edges in the test net, by name
    scores: Mapping[str, tuple[int, HasInverse]]  # the edges of scores, by the name of their probabilities

    @classmethod
    def of(cls, built: Built, deployed: Built) -> DeployedPart:
        """Find the outputs of a deploy net in the test net."""
        graph, edges, scores = built.graph, dict[str, int](), dict[str, tuple[int, HasInverse]]()
        layers = {edge: (node, layer) for node, layer in deployed.pairs() for edge in node.tops}
        for output in deployed.graph.outputs:
            name = deployed.graph.blobs[output]
            if name in graph.blobs:
                edges[name] = graph.edge_of(name)
            node, layer = layers[output]
            if isinstance(layer, HasInverse):
                scores[name] = graph.edge_of(deployed.graph.blobs[node.bottoms[0]]), layer
            elif name not in edges:
                raise NetError(
                    f"the deployed net's output '{name}' isn't a blob of the test net, so the layers after it can't be "
                    "tested; name a net whose loss or accuracy reads this blob"
                )
        return cls(built, edges, scores)

    @property
    def names(self) -> set[str]:
        """The names of the deploy net's outputs."""
        return self.edges.keys() | self.scores.keys()

    def values(self, outputs: Mapping[str, Tensor]) -> dict[int, Tensor]:
        """Return the known blobs by edge, from the outputs of the deploy net."""
        known = {edge: outputs[name] for name, edge in self.edges.items()}
        return known | {edge: layer.inverse(outputs[name]) for name, (edge, layer) in self.scores.items()}

    def rest(self) -> Built:
        """Return the layers that bring data, and those that the outputs need besides the known blobs."""
        graph = self.built.graph
        known = {*self.edges.values(), *(edge for edge, _ in self.scores.values())}
        needed, kept = set(graph.outputs) - known, list[int]()
        for index in reversed(range(len(graph.nodes))):
            node = graph.nodes[index]
            if not node.bottoms or needed.intersection(node.tops):
                kept.append(index)
                needed.update(set(node.bottoms) - known)
        indices = sorted(kept)
        nodes = [graph.nodes[index] for index in indices]
        rest = Graph(graph.net, graph.phase, nodes, graph.blobs, graph.outputs)
        return Built(rest, [self.built.layers[index] for index in indices], self.built.shapes)
