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

        Losses come first. A loss on values comes before other losses: an autoencoder may end in a sigmoid, which alone
        would mean classes.
        """
        found = [known for graph in graphs for known in _shown(graph)]
        found.sort(key=lambda known: (not known[2], known[1].meaning is not Meaning.VALUES))
        return cls({blob: known for blob, known, _ in reversed(found)})

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


def _shown(graph: Graph) -> Iterator[tuple[str, KnownMeaning, bool]]:
    """Yield the meanings of blobs by name, and whether a loss or a measure shows them."""
    kinds = kinds_of(graph)
    read = {
        edge
        for node, kind in zip(graph.nodes, kinds, strict=True)
        if kind is None or not issubclass(kind, NotDeployed)
        for edge in node.bottoms
    }
    for node, kind in zip(graph.nodes, kinds, strict=True):
        if kind is None or not issubclass(kind, ShowsMeaning):
            continue
        if issubclass(kind, NotDeployed):
            compared = [node.bottoms[place] for place in kind.predictions if place < len(node.bottoms)]
            known = KnownMeaning(
                _compared_meaning(graph, node, kind), f"{_described(node.layer)} compares it with labels"
            )
            yield from ((graph.blobs[edge], known, True) for edge in compared)
        elif not read.intersection(node.tops):
            for edge, what in ((node.tops[0], "computes it"), (node.bottoms[0], "reads it last")):
                yield graph.blobs[edge], KnownMeaning(kind.meaning, f"{_described(node.layer)} {what}"), False


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
