"""The blobs of a layer: what it learns and what it keeps, in Caffe's order and layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from netdsl.layer.fillers import check_filler, fill

Shape = tuple[int, ...]


class LayerBlobs(nn.Module):
    """A torch module with named blobs, of which other layers may share some."""

    blobs: ClassVar[tuple[str, ...]] = ()  # attributes in Caffe's order: parameters, or buffers that aren't learned
    fillers_make_blobs: ClassVar[bool] = False  # whether a layer has some blobs only because their fillers are set

    def __init__(self) -> None:
        super().__init__()
        self._reshaped: dict[str, tuple[LayerBlobs, str, torch.Size]] = {}

    def blob_names(self) -> list[str]:
        """The names of the blobs that this layer has, in Caffe's order."""
        return [name for name in self.blobs if getattr(self, name, None) is not None]

    def blob_tensors(self) -> Iterator[Tensor]:
        """The tensors of the blobs, in the same order."""
        for name in self.blob_names():
            yield getattr(self, name)

    def allocate(self, device: torch.device | str, done: dict[int, Tensor]) -> None:
        """Give the blobs memory and their first values. `done` has those that other layers share, by their identity."""
        for name, buffer in list(self.named_buffers()):
            if not buffer.is_meta:  # a table that the layer made ready by itself
                setattr(self, name, buffer.to(device))
        for name in self.blob_names():
            empty = getattr(self, name)
            if empty.is_meta and id(empty) not in done:
                done[id(empty)] = _with_memory(empty, device)
            if empty.is_meta:
                setattr(self, name, done[id(empty)])

    def check_fillers(self) -> None:
        """Raise a NetError if a blob can't get its first values."""
        for blob in self.blob_tensors():
            if (filler := getattr(blob, "filler", None)) is not None:
                check_filler(filler, tuple(blob.shape))

    def share_reshaped(self, name: str, owner: LayerBlobs, owned: str) -> None:
        """Use another layer's parameter in the shape of this layer's own."""
        shape = getattr(self, name).shape
        delattr(self, name)
        self._reshaped[name] = (owner, owned, shape)

    def __getattr__(self, name: str) -> Any:
        reshaped = self.__dict__.get("_reshaped", {})
        if name in reshaped:
            owner, owned, shape = reshaped[name]
            return getattr(owner, owned).view(shape)
        return super().__getattr__(name)

    def reshaped_blobs(self) -> list[str]:
        """The names of the blobs that are another layer's, in a shape of this one's own."""
        return list(self._reshaped)

    def owner_of(self, name: str) -> Tensor:
        """The tensor that a blob's values are really in, which may have another shape."""
        owner, owned, _ = self._reshaped.get(name, (self, name, None))
        tensor: Tensor = getattr(owner, owned)
        return tensor


def new_blob(filler: pb.FillerParameter, shape: Shape, *, value: float | None = None) -> nn.Parameter:
    """A learned blob that has a shape but no memory yet, and knows its filler.

    `value` is what a constant filler starts from where a layer's own default differs from 0.
    """
    parameter = nn.Parameter(torch.empty(shape, device="meta"))
    if value is not None and not filler.ByteSize():
        filler = pb.FillerParameter(type="constant", value=value)
    parameter.filler = filler  # type: ignore[attr-defined]
    return parameter


def new_statistics(shape: Shape) -> Tensor:
    """Sums that a layer keeps by itself, zero at first, without memory yet. Register it as a buffer."""
    return torch.zeros(shape, device="meta")


def _with_memory(empty: Tensor, device: torch.device | str) -> Tensor:
    tensor = torch.zeros(empty.shape, dtype=empty.dtype, device=device)
    filler = getattr(empty, "filler", None)
    if filler is not None:
        fill(tensor, filler)
    return nn.Parameter(tensor, empty.requires_grad) if isinstance(empty, nn.Parameter) else tensor
