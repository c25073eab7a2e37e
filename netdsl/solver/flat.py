"""The memory of blobs: all of a net's values in one buffer, or in the memory of another net that shares them.

The buffer begins with the learned blobs, in groups of equal multipliers. All other blobs follow. A second buffer
contains the gradients of the learned blobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from netdsl.errors import SolverError, WeightsError
from netdsl.layer import Layer
from netdsl.net.build import Built

_ALIGNMENT = 16  # number of values; kernels are fast with blobs that start at a multiple of 64 bytes


@dataclass(frozen=True)
class FlatBlob:
    """A blob and its place in the buffer."""

    layer: str
    tensor: Tensor
    lr_mult: float
    decay_mult: float
    start: int

    @property
    def stop(self) -> int:
        """The end of its place in the buffer."""
        return self.start + self.tensor.numel()

    @property
    def learns(self) -> bool:
        """Whether the solver changes the blob."""
        return isinstance(self.tensor, nn.Parameter) and self.tensor.requires_grad


@dataclass(frozen=True)
class BlobGroup:
    """A part of the buffer whose blobs have equal multipliers."""

    start: int
    stop: int
    lr_mult: float
    decay_mult: float
    blobs: tuple[FlatBlob, ...]


class FlatWeights:
    """A net's blobs, moved into one buffer. Each blob stays the same tensor, which is now a view of the buffer.

    `blobs` contains each blob once, in Caffe's order. `groups` contains the blobs that the solver changes, which are
    the first `learned_size` values of the buffer.
    """

    def __init__(self, built: Built) -> None:
        blobs = [blob for blob in _unique_blobs(built) if blob.tensor.numel()]
        learning = [blob for blob in blobs if blob.learns]
        multipliers = sorted({(blob.lr_mult, blob.decay_mult) for blob in learning}, reverse=True)
        self.groups, start = [], 0
        for pair in multipliers:
            members = [blob for blob in learning if (blob.lr_mult, blob.decay_mult) == pair]
            placed = list(_one_after_another(members, start))
            stop = _aligned(placed[-1].stop)
            self.groups.append(BlobGroup(start, stop, *pair, tuple(placed)))
            start = stop
        self.learned_size = start
        constant = list(_one_after_another([blob for blob in blobs if not blob.learns], start))
        all_placed = [*(blob for group in self.groups for blob in group.blobs), *constant]
        by_tensor = {id(blob.tensor): blob for blob in all_placed}
        self.blobs = [by_tensor[id(blob.tensor)] for blob in blobs]
        self.buffer = _new_buffer(all_placed)
        for blob in all_placed:
            view = self.view(self.buffer, blob)
            view.copy_(blob.tensor.detach())
            blob.tensor.data = view

    @staticmethod
    def view(buffer: Tensor, blob: FlatBlob) -> Tensor:
        """Return a blob's part of a buffer with this layout. It has the blob's shape and its order of axes in
        memory."""
        return buffer[blob.start : blob.stop].as_strided(blob.tensor.shape, blob.tensor.stride())


class FlatGradients:
    """The gradients of all learned blobs, in one buffer with the same layout. The buffer is created when it is first
    used.

    The `grad` of each blob is a view of the buffer, to which autograd adds. Gradients are therefore cleared, scaled and
    sent in one piece.
    """

    def __init__(self, weights: FlatWeights) -> None:
        self._weights = weights

    @cached_property
    def buffer(self) -> Tensor:
        """The gradients of all learned blobs."""
        return torch.zeros_like(self._weights.buffer[: self._weights.learned_size])

    @cached_property
    def views(self) -> dict[Tensor, Tensor]:
        """The part of the buffer for each blob."""
        weights = self._weights
        return {blob.tensor: weights.view(self.buffer, blob) for blob in weights.blobs if blob.learns}

    def clear(self) -> None:
        """Set all gradients to zero, and let autograd add to the buffer."""
        self.buffer.zero_()
        for tensor, view in self.views.items():
            tensor.grad = view

    def gather(self) -> None:
        """Copy gradients that have replaced the views into the buffer. A blob without a gradient gets zeros."""
        for tensor, view in self.views.items():
            if tensor.grad is None:
                view.zero_()
            elif tensor.grad is not view:
                view.copy_(tensor.grad)
            tensor.grad = view


def _new_buffer(blobs: Sequence[FlatBlob]) -> Tensor:
    if not blobs:
        raise SolverError("the net has nothing to learn, since no layer has blobs; add a layer with weights")
    kinds = {(blob.tensor.device, blob.tensor.dtype) for blob in blobs}
    if len(kinds) > 1:
        raise SolverError(
            "the net's blobs are on several devices or of several types; move the net with net.to('cpu') or "
            "net.to('cuda')"
        )
    return torch.zeros(
        _aligned(max(blob.stop for blob in blobs)), device=blobs[0].tensor.device, dtype=blobs[0].tensor.dtype
    )


def _one_after_another(blobs: Sequence[FlatBlob], start: int) -> Iterator[FlatBlob]:
    """Yield the blobs placed one after the other, each at an aligned position."""
    for blob in blobs:
        placed = FlatBlob(blob.layer, blob.tensor, blob.lr_mult, blob.decay_mult, start)
        yield placed
        start = _aligned(placed.stop)


def _aligned(position: int) -> int:
    return -(-position // _ALIGNMENT) * _ALIGNMENT


def _unique_blobs(built: Built) -> list[FlatBlob]:
    """Return every blob once, in Caffe's order.

    A shared blob has the name of its first layer, and the multipliers of all layers that share it.
    """
    blobs: dict[int, tuple[str, Tensor, dict[str, float]]] = {}
    for layer in built.layers:
        for index, name in enumerate(layer.blob_names()):
            tensor = layer.owner_of(name)
            _, _, multipliers = blobs.setdefault(id(tensor), (layer.layer.name, tensor, {}))
            multipliers |= _multipliers(layer, index)  # building the net checked that they agree
    return [
        FlatBlob(name, tensor, multipliers.get("lr_mult", 1.0), multipliers.get("decay_mult", 1.0), 0)
        for name, tensor, multipliers in blobs.values()
    ]


def _multipliers(layer: Layer, index: int) -> dict[str, float]:
    if index >= len(layer.layer.param):
        return {}
    spec = layer.layer.param[index]
    return {name: getattr(spec, name) for name in ("lr_mult", "decay_mult") if spec.HasField(name)}


def share_blobs(target: Built, source: Built) -> None:
    """Let layers use the values of the layers of the same name in another net. Each net keeps its own gradients."""
    sources = {node.layer.name: layer for node, layer in zip(source.graph.nodes, source.layers, strict=True)}
    for node, layer in zip(target.graph.nodes, target.layers, strict=True):
        if node.layer.name in sources:
            _share_layer(node.layer.name, layer, sources[node.layer.name])


def _share_layer(name: str, target: Layer, source: Layer) -> None:
    target_blobs, source_blobs = target.blob_names(), source.blob_names()
    if len(target_blobs) != len(source_blobs):
        raise WeightsError(
            f"layer '{name}' has {len(target_blobs)} blobs, but the other net's layer has {len(source_blobs)}; "
            "give both nets the same layers and data"
        )
    for index, (target_blob, source_blob) in enumerate(zip(target_blobs, source_blobs, strict=True)):
        blob, values = target.owner_of(target_blob), source.owner_of(source_blob)
        if blob.shape != values.shape:
            shapes = f"{list(blob.shape)}, but the other net's has {list(values.shape)}"
            raise WeightsError(
                f"layer '{name}': blob {index} has shape {shapes}; give both nets the same layers and data"
            )
        blob.data = values.data
