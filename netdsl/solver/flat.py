"""All blobs of a net in one buffer: what is learned first, in groups of equal multipliers, then the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from netdsl.errors import SolverError
from netdsl.layer import Layer, Shape
from netdsl.net.build import Built

_ALIGNMENT = 16  # values: kernels like blobs that begin at a multiple of 64 bytes


@dataclass(frozen=True)
class FlatBlob:
    """One blob and where it lies in the buffer."""

    layer: str
    tensor: Tensor
    lr_mult: float
    decay_mult: float
    start: int

    @property
    def stop(self) -> int:
        """Where it ends."""
        return self.start + self.tensor.numel()

    @property
    def learns(self) -> bool:
        """Whether the solver changes it."""
        return isinstance(self.tensor, nn.Parameter) and self.tensor.requires_grad


@dataclass(frozen=True)
class BlobGroup:
    """A stretch of the buffer that learns at one pace."""

    start: int
    stop: int
    lr_mult: float
    decay_mult: float
    blobs: tuple[FlatBlob, ...]


class FlatWeights:
    """A net's blobs, moved into one buffer; each stays the tensor that it was, as a view on it.

    `blobs` are in Caffe's order, each owned blob once; `groups` are what learns.
    """

    def __init__(self, built: Built) -> None:
        owned = [blob for blob in _owned(built) if blob.tensor.numel()]
        learning = [blob for blob in owned if blob.learns]
        paces = sorted({(blob.lr_mult, blob.decay_mult) for blob in learning}, reverse=True)
        grouped = [[blob for blob in learning if (blob.lr_mult, blob.decay_mult) == pace] for pace in paces]
        self.groups, start = [], 0
        for pace, members in zip(paces, grouped, strict=True):
            placed = list(_placed(members, start))
            stop = _aligned(placed[-1].stop)
            self.groups.append(BlobGroup(start, stop, *pace, tuple(placed)))
            start = stop
        self.learned = start  # how many values of the buffer learn
        rest = list(_placed([blob for blob in owned if not blob.learns], start))
        everything = [*(blob for group in self.groups for blob in group.blobs), *rest]
        found = {id(blob.tensor): blob for blob in everything}
        self.blobs = [found[id(blob.tensor)] for blob in owned]
        self.buffer = _buffer(everything)
        for blob in everything:
            view = self.view(self.buffer, blob)
            view.copy_(blob.tensor.detach())
            blob.tensor.data = view

    @staticmethod
    def view(buffer: Tensor, blob: FlatBlob) -> Tensor:
        """A blob's part of a buffer with this layout, in the blob's shape."""
        return buffer[blob.start : blob.stop].view(blob.tensor.shape)


def _buffer(blobs: Sequence[FlatBlob]) -> Tensor:
    if not blobs:
        raise SolverError("the net has nothing to learn: no layer has blobs")
    kinds = {(blob.tensor.device, blob.tensor.dtype) for blob in blobs}
    if len(kinds) > 1:
        raise SolverError("the blobs of a net that is trained must be on one device and of one type")
    return torch.zeros(
        _aligned(max(blob.stop for blob in blobs)), device=blobs[0].tensor.device, dtype=blobs[0].tensor.dtype
    )


def _placed(blobs: Sequence[FlatBlob], start: int) -> Iterator[FlatBlob]:
    for blob in blobs:
        placed = FlatBlob(blob.layer, blob.tensor, blob.lr_mult, blob.decay_mult, start)
        yield placed
        start = _aligned(placed.stop)


def _aligned(position: int) -> int:
    return -(-position // _ALIGNMENT) * _ALIGNMENT


def _owned(built: Built) -> list[FlatBlob]:
    """Every blob once, in Caffe's order: with its first layer, and with the multipliers that its sharers agree on."""
    found: dict[int, tuple[str, Tensor, dict[str, float]]] = {}
    for layer in built.layers:
        for index, name in enumerate(layer.blob_names()):
            tensor = layer.owner_of(name)
            _, _, known = found.setdefault(id(tensor), (layer.layer.name, tensor, {}))
            _merge(known, _multipliers(layer, index), layer.layer.name)
    return [
        FlatBlob(name, tensor, known.get("lr_mult", 1.0), known.get("decay_mult", 1.0), 0)
        for name, tensor, known in found.values()
    ]


def _multipliers(layer: Layer, index: int) -> dict[str, float]:
    if index >= len(layer.layer.param):
        return {}
    spec = layer.layer.param[index]
    return {name: getattr(spec, name) for name in ("lr_mult", "decay_mult") if spec.HasField(name)}


def _merge(known: dict[str, float], given: dict[str, float], layer: str) -> None:
    """Caffe's rule: layers that share a parameter may each set its multipliers, but not to different values."""
    for name, value in given.items():
        if known.setdefault(name, value) != value:
            raise SolverError(f"layer '{layer}': {name} is {value:g} for a shared parameter that has {known[name]:g}")


def shapes_of(blobs: Sequence[FlatBlob]) -> list[Shape]:
    """The shapes of blobs."""
    return [tuple(blob.tensor.shape) for blob in blobs]
