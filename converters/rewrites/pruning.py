"""A net that ends at one of its layers."""

from __future__ import annotations

from difflib import get_close_matches

from converters.rewrites.editing import Editing
from netdsl.errors import ConversionError
from netdsl.model import Model


def prune_to(model: Model, name: str) -> Model:
    """The model with a layer as its last, and with nothing that this one doesn't need."""
    editing = Editing.of(model)
    nodes = editing.built.graph.nodes
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
    editing.removed.update(set(range(len(nodes))) - needed)
    return editing.done()
