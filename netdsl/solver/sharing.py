"""Sharing of blobs: one net uses the values of another."""

from __future__ import annotations

from netdsl.errors import WeightsError
from netdsl.layer import Layer
from netdsl.net.build import Built


def share_blobs(target: Built, source: Built) -> None:
    """Let layers use the values of the layers of the same name in another net; each net keeps its own gradients."""
    sources = {node.layer.name: layer for node, layer in zip(source.graph.nodes, source.layers, strict=True)}
    for node, layer in zip(target.graph.nodes, target.layers, strict=True):
        if node.layer.name in sources:
            _share(node.layer.name, layer, sources[node.layer.name])


def _share(name: str, target: Layer, source: Layer) -> None:
    target_blobs, source_blobs = target.blob_names(), source.blob_names()
    if len(target_blobs) != len(source_blobs):
        raise WeightsError(f"layer '{name}' has {len(target_blobs)} blobs, the other net's has {len(source_blobs)}")
    for index, (target_blob, source_blob) in enumerate(zip(target_blobs, source_blobs, strict=True)):
        blob, values = target.owner_of(target_blob), source.owner_of(source_blob)
        if blob.shape != values.shape:
            shapes = f"{list(blob.shape)}, the other net's has {list(values.shape)}"
            raise WeightsError(f"layer '{name}': blob {index} has shape {shapes}")
        blob.data = values.data
