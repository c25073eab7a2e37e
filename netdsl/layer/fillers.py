"""Caffe's fillers: the values that blobs start with."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError

_VARIANCE = pb.FillerParameter.VarianceNorm


def fill(tensor: Tensor, filler: pb.FillerParameter) -> None:
    """Give a tensor its first values."""
    if filler.type not in _FILLERS:
        raise NetError(f"'{filler.type}' is no filler; Caffe has {', '.join(_FILLERS)}")
    with torch.no_grad():
        _FILLERS[filler.type](tensor, filler)


def _fans(tensor: Tensor) -> tuple[float, float]:
    """Caffe's rule: the first axis is what goes out, all others what comes in."""
    shape, count = tensor.shape, tensor.numel()
    return count / shape[0], count / (shape[1] if len(shape) > 1 else 1)


def _scale(tensor: Tensor, filler: pb.FillerParameter) -> float:
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
    limit = math.sqrt(3 / _scale(tensor, filler))
    tensor.uniform_(-limit, limit)


def _msra(tensor: Tensor, filler: pb.FillerParameter) -> None:
    tensor.normal_(0, math.sqrt(2 / _scale(tensor, filler)))


def _bilinear(tensor: Tensor, filler: pb.FillerParameter) -> None:
    if tensor.dim() != 4 or tensor.shape[2] != tensor.shape[3]:
        raise NetError(f"a bilinear filler needs a square kernel, not {list(tensor.shape)}")
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
