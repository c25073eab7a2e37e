"""The blobs of a layer, learned or kept, in Caffe's order and layout, and their fillers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import name_advice
from netdsl.errors import NetError

_VARIANCE = pb.FillerParameter.VarianceNorm
Shape = tuple[int, ...]


class LayerBlobs(nn.Module):
    """A torch module with named blobs. Other layers may share some of them."""

    blobs: ClassVar[tuple[str, ...]] = ()  # attributes in Caffe's order: parameters, or buffers that aren't learned
    fillers_make_blobs: ClassVar[bool] = False  # whether some blobs exist only if their fillers are set

    def __init__(self) -> None:
        super().__init__()
        self._reshaped: dict[str, tuple[LayerBlobs, str, torch.Size]] = {}

    def blob_names(self) -> list[str]:
        """Return the names of this layer's blobs, in Caffe's order."""
        return [name for name in self.blobs if getattr(self, name, None) is not None]

    def blob_tensors(self) -> Iterator[Tensor]:
        """Yield the tensors of the blobs, in Caffe's order."""
        for name in self.blob_names():
            yield getattr(self, name)

    def allocate(self, device: torch.device | str, done: dict[int, Tensor]) -> None:
        """Allocate the blobs and fill them. `done` maps the ids of shared blobs to their allocated tensors."""
        for name, buffer in list(self.named_buffers()):
            if not buffer.is_meta:  # the layer has filled this buffer itself
                setattr(self, name, buffer.to(device))
        for name in self.blob_names():
            empty = getattr(self, name)
            if empty.is_meta and id(empty) not in done:
                done[id(empty)] = _filled(empty, device)
            if empty.is_meta:
                setattr(self, name, done[id(empty)])

    def with_own_blobs(self) -> Self:
        """Return a copy that shares everything with this layer except its tensors, which have their own memory."""
        own = copy(self)
        tables = {name: copy(value) for name, value in vars(self).items() if isinstance(value, dict)}
        vars(own).update(tables)  # torch's dicts of tensors and hooks, and that of reshaped blobs
        for name, buffer in self.named_buffers(recurse=False):
            setattr(own, name, buffer if buffer.is_meta else buffer.clone())
        return own

    def share_with_copies(self, copies: Mapping[LayerBlobs, LayerBlobs]) -> None:
        """Use the copies' parameters for reshaped blobs that belong to other layers."""
        self._reshaped = {name: (copies[owner], owned, shape) for name, (owner, owned, shape) in self._reshaped.items()}

    def check_fillers(self) -> None:
        """Raise a `NetError` if a filler can't fill its blob."""
        for blob in self.blob_tensors():
            if (filler := getattr(blob, "filler", None)) is not None:
                _check_filler(filler, tuple(blob.shape))

    def share_reshaped(self, name: str, owner: LayerBlobs, owned: str) -> None:
        """Use another layer's parameter, in the shape of this layer's own."""
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
        """Return the names of the blobs that belong to another layer and have another shape there."""
        return list(self._reshaped)

    def owner_of(self, name: str) -> Tensor:
        """Return the tensor that stores a blob's values. Its shape may differ."""
        owner, owned, _ = self._reshaped.get(name, (self, name, None))
        tensor: Tensor = getattr(owner, owned)
        return tensor


def new_blob(filler: pb.FillerParameter, shape: Shape, *, value: float | None = None) -> nn.Parameter:
    """Return a learned blob with a shape and a filler but without memory.

    `value` is the start value if the filler is unset and the layer's default isn't 0.
    """
    parameter = nn.Parameter(torch.empty(shape, device="meta"))
    if value is not None and not filler.ByteSize():
        filler = pb.FillerParameter(type="constant", value=value)
    parameter.filler = filler  # type: ignore[attr-defined]
    return parameter


def new_statistics(shape: Shape) -> Tensor:
    """Return zeros without memory, for sums that a layer maintains. The layer must register them as a buffer."""
    return torch.zeros(shape, device="meta")


def _filled(empty: Tensor, device: torch.device | str) -> Tensor:
    """Return a blob with its first values. A CPU draws them, so that a seed gives the same values on every device."""
    tensor = torch.zeros(empty.shape, dtype=empty.dtype)
    filler = getattr(empty, "filler", None)
    if filler is not None:
        fill(tensor, filler)
    tensor = tensor.to(device, non_blocking=True)
    return nn.Parameter(tensor, empty.requires_grad) if isinstance(empty, nn.Parameter) else tensor


def fill(tensor: Tensor, filler: pb.FillerParameter) -> None:
    """Fill a tensor with its first values."""
    _check_filler(filler, tuple(tensor.shape))
    with torch.no_grad():
        _FILLERS[filler.type](tensor, filler)


def _check_filler(filler: pb.FillerParameter, shape: tuple[int, ...]) -> None:
    """Raise a `NetError` if a filler doesn't exist or can't fill a blob of this shape."""
    if filler.type not in _FILLERS:
        raise NetError(f"there is no filler '{filler.type}'; {name_advice(filler.type, _FILLERS)}")
    if filler.type == "uniform" and not filler.min <= filler.max:
        raise NetError(f"a uniform filler's min is {filler.min:g} and its max {filler.max:g}; set min to max or less")
    if filler.type == "gaussian" and not filler.std >= 0:
        raise NetError(f"a gaussian filler's std is {filler.std:g}; set it to 0 or more")
    if filler.type == "bilinear" and (len(shape) != 4 or shape[2] != shape[3]):
        raise NetError(
            f"a bilinear filler needs a square kernel, not a blob of shape {list(shape)}; set a square kernel, or "
            "another filler"
        )


def _fans(tensor: Tensor) -> tuple[float, float]:
    """Return the numbers of inputs and outputs.

    Caffe's rule: the first axis counts the outputs, and all others the inputs.
    """
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
    if filler.sparse >= 0:  # this many inputs of each output are nonzero on average
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
    center = (size - 1) / (2 * factor)
    line = 1 - (torch.arange(size, dtype=tensor.dtype, device=tensor.device) / factor - center).abs()
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
