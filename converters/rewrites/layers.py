"""Rewrites of a net's layers: pruning, folding of affine layers, and conversion to a fully convolutional net."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches

import torch

from converters.rewrites.model_editor import ModelEditor
from netdsl.errors import ConversionError
from netdsl.layer.deploying import AbsorbsAffine, BecomesConvolution, ChannelAffine, NewLayer
from netdsl.model import Model


def prune_to(model: Model, name: str) -> Model:
    """Prune a model to a layer and the layers that it depends on."""
    editor = ModelEditor.of(model)
    nodes = editor.built.graph.nodes
    ends = [index for index, node in enumerate(nodes) if node.layer.name == name]
    if not ends:
        near = get_close_matches(name, [node.layer.name for node in nodes], 1)
        raise ConversionError(f"there is no layer '{name}'{f'; did you mean {near[0]!r}?' if near else ''}")
    needed = {ends[-1]}
    edges = set(nodes[ends[-1]].bottoms)
    for index in reversed(range(ends[-1])):
        if edges.intersection(nodes[index].tops):
            needed.add(index)
            edges.update(nodes[index].bottoms)
    editor.removed.update(set(range(len(nodes))) - needed)
    return editor.result()


def fold_affine(model: Model) -> Model:
    """Fold layers that only scale and shift channels into the convolution or fully connected layer before them.

    Layers that share parameters are not changed.
    """
    editor = ModelEditor.of(model)
    nodes = editor.built.graph.nodes
    readers = Counter(edge for node in nodes for edge in node.bottoms)
    reader = {
        edge: index for index, node in enumerate(nodes) for edge in node.bottoms
    }  # the only reader, where it is one
    for index, layer in enumerate(editor.built.layers):
        if index in editor.removed or len(nodes[index].tops) != 1 or editor.shares(layer):
            continue
        folded = _fold_following(editor, index, layer, readers, reader) if isinstance(layer, AbsorbsAffine) else None
        if folded is not None:
            editor.replacements[index] = folded
    return editor.result()


def _fold_following(
    editor: ModelEditor, index: int, layer: AbsorbsAffine, readers: Counter[int], reader: dict[int, int]
) -> NewLayer | None:
    """A layer with all following layers folded into it, or None if there are none to fold."""
    nodes, layers = editor.built.graph.nodes, editor.built.layers
    folded, edge = None, nodes[index].tops[0]
    total: tuple[torch.Tensor, torch.Tensor] | None = None
    while readers[edge] == 1 and len(nodes[reader[edge]].bottoms) == len(nodes[reader[edge]].tops) == 1:
        following = layers[reader[edge]]
        affine = following.channel_affine() if isinstance(following, ChannelAffine) else None
        if affine is None:
            break
        factor, shift = affine
        total = affine if total is None else (total[0] * factor, total[1] * factor + shift)
        candidate = layer.with_affine(*total)
        if candidate is None:
            break
        folded = candidate
        folded[0].top[:] = nodes[reader[edge]].layer.top
        editor.removed.add(reader[edge])
        edge = nodes[reader[edge]].tops[0]
    return folded


def make_fully_convolutional(model: Model) -> Model:
    """Replace every fully connected layer by a convolution, so that a classifier runs on all places of larger images.

    Predictions get two more axes.
    """
    editor = ModelEditor.of(model)
    built = editor.built
    for index, (node, layer) in enumerate(built.pairs()):
        if isinstance(layer, BecomesConvolution) and len(node.bottoms) == 1:
            convolution = layer.as_convolution(built.shapes[node.bottoms[0]])
            if convolution is not None:
                editor.replacements[index] = convolution
    if not editor.replacements:
        raise ConversionError(f"net '{model.net.name}' has no fully connected layer that can become a convolution")
    return editor.result()
