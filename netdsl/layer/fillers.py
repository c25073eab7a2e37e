"""Caffe's fillers: the values that blobs start with."""

from __future__ import annotations

import math
from collections.abc import Callable
from difflib import get_close_matches

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError

_VARIANCE = pb.FillerParameter.VarianceNorm


def fill(tensor: Tensor, filler: pb.FillerParameter) -> None:
    """Give a tensor its first values."""
    check_filler(filler, tuple(tensor.shape))
    with torch.no_grad():
        _FILLERS[filler.type](tensor, filler)


def check_filler(filler: pb.FillerParameter, shape: tuple[int, ...]) -> None:
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
