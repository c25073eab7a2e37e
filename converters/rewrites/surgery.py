"""Net surgery: fully connected layers as convolutions, so that a classifier looks at every place of a larger image."""

from __future__ import annotations

from converters.rewrites.editing import Editing
from netdsl.errors import ConversionError
from netdsl.model import Model


def fully_convolutional(model: Model) -> Model:
    """The model with a convolution for every fully connected layer; predictions get two axes more."""
    editing = Editing.of(model)
    built = editing.built
    for index, (node, layer) in enumerate(zip(built.graph.nodes, built.layers, strict=True)):
        made = layer.convolved(built.shapes[node.bottoms[0]]) if len(node.bottoms) == 1 else None
        if made is not None:
            editing.made[index] = made
    if not editing.made:
        raise ConversionError(f"net '{model.net.name}' has no fully connected layer that can become a convolution")
    return editing.done()
