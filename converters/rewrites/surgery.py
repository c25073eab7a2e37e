"""Net surgery: fully connected layers as convolutions, so that a classifier looks at every place of a larger image."""

from __future__ import annotations

from converters.model import Model
from converters.rewrites.editing import Editing
from netdsl.errors import ConversionError
from netdsl.layer.folding import BecomesConvolution


def fully_convolutional(model: Model) -> Model:
    """The model with a convolution for every fully connected layer; predictions get two axes more."""
    editing = Editing.of(model)
    built = editing.built
    for index, (node, layer) in enumerate(built.pairs()):
        if isinstance(layer, BecomesConvolution) and len(node.bottoms) == 1:
            made = layer.as_convolution(built.shapes[node.bottoms[0]])
            if made is not None:
                editing.made[index] = made
    if not editing.made:
        raise ConversionError(f"net '{model.net.name}' has no fully connected layer that can become a convolution")
    return editing.done()
