"""The blobs of a layer: what it learns and what it keeps, in Caffe's order and layout, and their first values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from difflib import get_close_matches
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError

_VARIANCE = pb.FillerParameter.VarianceNorm
Shape = tuple[int, ...]


class LayerBlobs(nn.Module):
    """A torch module with named blobs, of which other layers may share some."""

    blobs: ClassVar[tuple[str, ...]] = ()  # attributes in Caffe's order: parameters, or buffers that aren't learned
    fillers_make_blobs: ClassVar[bool] = False  # whether a layer has some blobs only because their fillers are set

    def __init__(self) -> None:
        super().__init__()
        self._reshaped: dict[str, tuple[LayerBlobs, str, torch.Size]] = {}

    def blob_names(self) -> list[str]:
        """Return the names of the blobs that this layer has, in Caffe's order."""
        return [name for name in self.blobs if getattr(self, name, None) is not None]

    def blob_tensors(self) -> Iterator[Tensor]:
        """Yield the tensors of the blobs, in the same order."""
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
                done[id(empty)] = _filled(empty, device)
            if empty.is_meta:
                setattr(self, name, done[id(empty)])

    def with_own_blobs(self) -> Self:
        """Return a copy that shares all with this layer but its tensors, which get memory and change by themselves."""
        own = copy(self)
        tables = {name: copy(value) for name, value in vars(self).items() if isinstance(value, dict)}
        vars(own).update(tables)  # torch's, of tensors and hooks, and that of blobs in another shape
        for name, buffer in self.named_buffers(recurse=False):
            setattr(own, name, buffer if buffer.is_meta else buffer.clone())
        return own

    def share_with_copies(self, copies: Mapping[LayerBlobs, LayerBlobs]) -> None:
        """Use the parameters of copies, where this layer uses one of another layer in another shape."""
        self._reshaped = {name: (copies[owner], owned, shape) for name, (owner, owned, shape) in self._reshaped.items()}

    def check_fillers(self) -> None:
        """Raise a NetError if a blob can't get its first values."""
        for blob in self.blob_tensors():
            if (filler := getattr(blob, "filler", None)) is not None:
                _check_filler(filler, tuple(blob.shape))

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
        """Return the names of the blobs that are another layer's, in a shape of this one's own."""
        return list(self._reshaped)

    def owner_of(self, name: str) -> Tensor:
        """Return the tensor that a blob's values are really in, which may have another shape."""
        owner, owned, _ = self._reshaped.get(name, (self, name, None))
        tensor: Tensor = getattr(owner, owned)
        return tensor


def new_blob(filler: pb.FillerParameter, shape: Shape, *, value: float | None = None) -> nn.Parameter:
    """Return a learned blob that has a shape but no memory yet, and knows its filler.

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


def _filled(empty: Tensor, device: torch.device | str) -> Tensor:
    tensor = torch.zeros(empty.shape, dtype=empty.dtype, device=device)
    filler = getattr(empty, "filler", None)
    if filler is not None:
        fill(tensor, filler)
    return nn.Parameter(tensor, empty.requires_grad) if isinstance(empty, nn.Parameter) else tensor


def fill(tensor: Tensor, filler: pb.FillerParameter) -> None:
    """Give a tensor its first values."""
    _check_filler(filler, tuple(tensor.shape))
    with torch.no_grad():
        _FILLERS[filler.type](tensor, filler)


def _check_filler(filler: pb.FillerParameter, shape: tuple[int, ...]) -> None:
    """Raise a NetError if a filler doesn't exist, or can't give values to a blob of this shape."""
    if filler.type not in _FILLERS:
        near = get_close_matches(filler.type.lower(), _FILLERS, 1)
        hint = f"did you mean {near[0]}?" if near else f"Caffe has {', '.join(_FILLERS)}"
        raise NetError(f"there is no filler '{filler.type}'; {hint}")
    if filler.type == "uniform" and not filler.min <= filler.max:
        raise NetError(f"a uniform filler needs a min up to its max, not {filler.min:g} and {filler.max:g}")
    if filler.type == "gaussian" and not filler.std >= 0:
        raise NetError(f"a gaussian filler needs a std of 0 or more, not {filler.std:g}")
    if filler.type == "bilinear" and (len(shape) != 4 or shape[2] != shape[3]):
        raise NetError(f"a bilinear filler needs a square kernel, not {list(shape)}")


def _fans(tensor: Tensor) -> tuple[float, float]:
    """Caffe's rule: the first axis is what goes out, all others what comes in."""
    shape, count = tensor.shape, tensor.numel()
    return count / shape[0], count / (shape[1] if len(shape) > 1 else 1)


def _fan(tensor: Tensor, filler: pb.FillerParameter) -> float:
    fan_in, fan_out = _fans(tensor)
    if filler.variance_norm == _VARIANCE.AVERAGE:
        return (fan_in + fan_out) / 2
    return fan_out if filler.variance_norm == _VARIANCE.FAN_OUT else fan_in


def _constant(tensor: Tensor, filler: pb.FillerParameter) -> None:
    tensor.fill_(filler.value)


def _uniform(tensor: Tensor, filler: pb.FillerParameter) -> None:
    tensor.uniform_(filler.min, filler.max)


def _gaussian(tensor: Tensor, filler: pb.FillerParameter) -> None:
    tensor.normal_(filler.mean, filler.std)
    if filler.sparse >= 0:  # of every output's inputs, that many on average are not zero
        kept = filler.sparse / max(tensor.shape[0], 1)
        tensor.mul_(torch.bernoulli(torch.full_like(tensor, min(kept, 1.0))))


def _positive_unitball(tensor: Tensor, filler: pb.FillerParameter) -> None:
    tensor.uniform_(0, 1)
    rows = tensor.view(tensor.shape[0], -1)
    rows.div_(rows.sum(1, keepdim=True))


def _xavier(tensor: Tensor, filler: pb.FillerParameter) -> None:
    limit = math.sqrt(3 / _fan(tensor, filler))
    tensor.uniform_(-limit, limit)


def _msra(tensor: Tensor, filler: pb.FillerParameter) -> None:
    tensor.normal_(0, math.sqrt(2 / _fan(tensor, filler)))


def _bilinear(tensor: Tensor, filler: pb.FillerParameter) -> None:
    size = tensor.shape[3]
    factor = math.ceil(size / 2)
    centre = (size - 1) / (2 * factor)
    line = 1 - (torch.arange(size, dtype=tensor.dtype, device=tensor.device) / factor - centre).abs()
    tensor.copy_(line[:, None] * line[None, :])


_FILLERS: dict[str, Callable[[Tensor, pb.FillerParameter], None]] = {
    "constant": _constant,
    "gaussian": _gaussian,
    "positive_unitball": _positive_unitball,
    "uniform": _uniform,
    "xavier": _xavier,
    "msra": _msra,
    "bilinear": _bilinear,
}
