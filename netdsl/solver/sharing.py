"""One net that uses the blobs of another."""

from __future__ import annotations

from netdsl.errors import WeightsError
from netdsl.layer import Layer
from netdsl.net.build import Built


def share_blobs(target: Built, source: Built) -> None:
    """Let layers use the values of those of the same name in another net; gradients stay their own."""
    theirs = {node.layer.name: layer for node, layer in zip(source.graph.nodes, source.layers, strict=True)}
    for node, layer in zip(target.graph.nodes, target.layers, strict=True):
        if node.layer.name in theirs:
            share(node.layer.name, layer, theirs[node.layer.name])


def share(name: str, target: Layer, source: Layer) -> None:
    """Let a layer use the values of another one's blobs."""
    mine, theirs = target.blob_names(), source.blob_names()
    if len(mine) != len(theirs):
        raise WeightsError(f"layer '{name}' has {len(mine)} blobs, the other net's has {len(theirs)}")
    for index, (blob, other) in enumerate(zip(mine, theirs, strict=True)):
        to, values = target.owner_of(blob), source.owner_of(other)
        if to.shape != values.shape:
            shapes = f"{list(to.shape)}, the other net's has {list(values.shape)}"
            raise WeightsError(f"layer '{name}': blob {index} has shape {shapes}")
        to.data = values.data
