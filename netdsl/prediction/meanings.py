"""Finds the meanings of a net's blobs, from its layers and from the losses that it was trained with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Layer, NotDeployed, Shape
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.model.deploy.predictions import kinds_of
from netdsl.net.build import Built
from netdsl.net.graph import Graph, Node


class KnownMeaning(NamedTuple):
    """The meaning of a blob, and the reason as a clause for the user."""

    meaning: Meaning
    reason: str


@dataclass(frozen=True)
class Meanings:
    """The known meanings of blobs by name."""

    by_blob: dict[str, KnownMeaning]

    @classmethod
    def of(cls, graphs: Iterable[Graph]) -> Meanings:
        """Return the meanings that the layers of a net show. The graphs are those of the net as it is used and trained.

        A loss comes before the layer that computes a blob, and a loss on values before other losses: an autoencoder may
        end in a sigmoid, which alone would mean classes.
        """
        graphs = list(graphs)
        compared = [pair for graph in graphs for pair in _compared(graph)]
        compared.sort(key=lambda pair: pair[1].meaning is Meaning.VALUES)
        known = dict(compared)
        for graph in graphs:
            for bottom, top, shown in _computed(graph):
                known.setdefault(top, known.setdefault(bottom, shown))
        return cls(known)

    def of_edge(self, built: Built, edge: int) -> KnownMeaning | None:
        """Return the meaning of a blob of a built net, or `None` if no layer shows it.

        A layer that only reshapes vectors keeps the meaning.
        """
        known = self.by_blob.get(built.graph.blobs[edge])
        while known is None:
            node, layer = next((node, layer) for node, layer in built.pairs() if edge in node.tops)
            if not (node.bottoms and layer.keeps_values and _is_same_vector(built, node.bottoms[0], edge)):
                return None
            edge = node.bottoms[0]
            known = self.by_blob.get(built.graph.blobs[edge])
        return known


def _compared(graph: Graph) -> Iterator[tuple[str, KnownMeaning]]:
    """Yield the blobs that losses and measures compare, with the meanings that these show."""
    for node, kind in zip(graph.nodes, kinds_of(graph), strict=True):
        if kind is not None and issubclass(kind, ShowsMeaning) and issubclass(kind, NotDeployed):
            reason = f"{_described(node.layer)} compares it with labels"
            known = KnownMeaning(_compared_meaning(graph, node, kind), reason)
            edges = [node.bottoms[place] for place in kind.predictions if place < len(node.bottoms)]
            yield from ((graph.blobs[edge], known) for edge in edges)


def _computed(graph: Graph) -> Iterator[tuple[str, str, KnownMeaning]]:
    """Yield the bottom and the top of each layer that shows a meaning at the end of a net. Layers after it may reshape
    the values."""
    nodes, read = list(zip(graph.nodes, kinds_of(graph), strict=True)), set[int]()
    for node, kind in reversed(nodes):
        is_last = not read.intersection(node.tops)
        if kind is not None and (issubclass(kind, NotDeployed) or (kind.keeps_values and is_last)):
            continue
        read.update(node.bottoms)
        if kind is not None and issubclass(kind, ShowsMeaning) and is_last:
            known = KnownMeaning(kind.meaning, f"{_described(node.layer)} computes it")
            yield graph.blobs[node.bottoms[0]], graph.blobs[node.tops[0]], known


def _compared_meaning(graph: Graph, node: Node, kind: type[ShowsMeaning]) -> Meaning:
    """Return the meaning of a loss's predictions. If its labels are the net's own input, the net learns values."""
    if kind.meaning is not Meaning.CLASSES or len(node.bottoms) < 2:
        return kind.meaning
    predicted, labels = (_sources(graph, edge) for edge in node.bottoms[:2])
    return Meaning.VALUES if predicted & labels else Meaning.CLASSES


def _sources(graph: Graph, edge: int) -> set[int]:
    """Return the edges without bottoms that an edge depends on."""
    needed, sources = {edge}, set[int]()
    for node in reversed(graph.nodes):
        made = needed.intersection(node.tops)
        needed.update(node.bottoms if made else ())
        sources.update(made if not node.bottoms else ())
    return sources or {edge}


def _described(layer: pb.LayerParameter) -> str:
    return f"layer '{layer.name}' ({layer.type})"


def _is_same_vector(built: Built, bottom: int, top: int) -> bool:
    """Return whether two blobs are vectors for each item, of the same length."""
    return vector_length(built.shapes[bottom]) == vector_length(built.shapes[top]) != 0


def vector_length(shape: Shape) -> int:
    """Return the length of the vector that a blob contains for each item, or 0 if it contains something else."""
    return shape[1] if len(shape) > 1 and math.prod(shape[2:]) == 1 else 0


def maker_of(built: Built, edge: int) -> Layer:
    """Return the layer that computes a blob."""
    return next(layer for node, layer in built.pairs() if edge in node.tops)
