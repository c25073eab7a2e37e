"""Normalisations and scales done by the convolution, or the fully connected layer, before them."""

from __future__ import annotations

from collections import Counter

import torch

from converters.model import Model
from converters.rewrites.editing import Editing
from netdsl.layer.folding import AbsorbsAffine, ChannelAffine, NewLayer


def fold_affine(model: Model) -> Model:
    """The model without those layers that only multiply and add to the channels of a layer that can do it itself.

    Layers whose parameters others share are left as they are.
    """
    editing = Editing.of(model)
    nodes = editing.built.graph.nodes
    readers = Counter(edge for node in nodes for edge in node.bottoms)
    at = {edge: index for index, node in enumerate(nodes) for edge in node.bottoms}  # the only reader, where it is one
    for index, layer in enumerate(editing.built.layers):
        if index in editing.removed or len(nodes[index].tops) != 1 or editing.shares(layer):
            continue
        folded = _folded(editing, index, layer, readers, at) if isinstance(layer, AbsorbsAffine) else None
        if folded is not None:
            editing.made[index] = folded
    return editing.done()


def _folded(
    editing: Editing, index: int, layer: AbsorbsAffine, readers: Counter[int], at: dict[int, int]
) -> NewLayer | None:
    """A layer with all that follows it, if anything can be folded into it."""
    nodes, layers = editing.built.graph.nodes, editing.built.layers
    found, edge = None, nodes[index].tops[0]
    total: tuple[torch.Tensor, torch.Tensor] | None = None
    while readers[edge] == 1 and len(nodes[at[edge]].bottoms) == len(nodes[at[edge]].tops) == 1:
        following = layers[at[edge]]
        affine = following.channel_affine() if isinstance(following, ChannelAffine) else None
        if affine is None:
            break
        factor, shift = affine
        total = affine if total is None else (total[0] * factor, total[1] * factor + shift)
        made = layer.with_affine(*total)
        if made is None:
            break
        found = made
        found[0].top[:] = nodes[at[edge]].layer.top
        editing.removed.add(at[edge])
        edge = nodes[at[edge]].tops[0]
    return found
