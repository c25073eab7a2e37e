"""Finds inputs with steps of sequences, which layers that keep a state read."""

from __future__ import annotations

from netdsl.layer.running import KeepsState
from netdsl.layer.samples import BlobKind
from netdsl.layers import type_of
from netdsl.net.graph import Graph


def beginning_edges(graph: Graph) -> set[int]:
    """Return the edges whose values are 0 where a sequence begins."""
    kinds = ((type_of(node.layer), node) for node in graph.nodes)
    return {node.bottoms[kind.begins_at] for kind, node in kinds if kind is not None and issubclass(kind, KeepsState)}


def sequence_inputs(graph: Graph) -> tuple[set[int], set[int]]:
    """Return the inputs that are 0 where a sequence begins, and the inputs that contain numbers of words or
    characters."""
    sources = {edge for node in graph.nodes if not node.bottoms for edge in node.tops}
    return beginning_edges(graph) & sources, _number_edges(graph) & sources


def _number_edges(graph: Graph) -> set[int]:
    """Return the edges that contain numbers of words or characters, or other labels that a layer reads as its input."""
    kinds = ((type_of(node.layer), node) for node in graph.nodes)
    return {
        edge
        for kind, node in kinds
        if kind is not None
        for edge, values in zip(node.bottoms, kind.bottom_kinds, strict=False)
        if values is BlobKind.LABEL
    }
