"""Finds where a net learns: the bottoms, edges and blobs that get gradients, and the edges that are losses."""

from __future__ import annotations

from torch import Tensor

from netdsl.layer import Layer
from netdsl.net.build import Built
from netdsl.net.graph import Node


def losses_of(built: Built) -> dict[int, float]:
    """Return the edges that count as losses, with their weights."""
    weights = [pair for node, layer in built.pairs() for pair in zip(node.tops, layer.loss_weights(), strict=True)]
    return {edge: weight for edge, weight in weights if weight}


def cut_of(built: Built, node: Node, layer: Layer) -> tuple[int, ...]:
    """Return the positions of bottoms that don't get a gradient.

    By Caffe's rule, `propagate_down: false` stops the gradient, except in a net that forces gradients everywhere.
    """
    forced = built.graph.net.force_backward
    stopped = [index for index, goes in enumerate(node.layer.propagate_down) if not goes and not forced]
    return tuple(index for index in range(len(node.bottoms)) if index in stopped or index in layer.no_gradient)


def learning_edges(built: Built) -> set[int]:
    """Return the edges that get a gradient.

    By Caffe's rule, these depend on something learned, unless the net forces gradients everywhere.
    """
    learning = set(range(len(built.shapes))) if built.graph.net.force_backward else set()
    for node, layer in built.pairs():
        cut = cut_of(built, node, layer)
        passed = {edge for place, edge in enumerate(node.bottoms) if place not in cut}
        if passed & learning or learned_blobs(layer):
            learning.update(node.tops)
    return learning


def learned_blobs(layer: Layer) -> list[Tensor]:
    """Return the blobs of a layer that get a gradient."""
    return [blob for blob in map(layer.owner_of, layer.blob_names()) if blob.requires_grad]
