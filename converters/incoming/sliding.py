"""Convolutions and fully connected layers, with padding that Caffe itself can't say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from converters.incoming.net import Make, NetBlob, NetWriter, along
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Sliding:
    """How filters move: a number for each spatial axis. What padding adds, a negative one takes away."""

    stride: Numbers
    begin: Numbers
    end: Numbers
    dilation: Numbers
    group: int = 1


def convolve(
    net: NetWriter, x: NetBlob, weight: AnyArray, bias: AnyArray | None, sliding: Sliding, part: str = ""
) -> NetBlob:
    """A convolution."""
    settings = {"num_output": weight.shape[0], "part": part}
    return _slide(net, dsl.Convolution, x, weight, bias, sliding, settings)


def deconvolve(net: NetWriter, x: NetBlob, weight: AnyArray, bias: AnyArray | None, sliding: Sliding) -> NetBlob:
    """A transposed convolution, from whose result the padding is cut off."""
    settings = {"num_output": weight.shape[1] * sliding.group}
    return _slide(net, dsl.Deconvolution, x, weight, bias, sliding, settings)


def _slide(
    net: NetWriter,
    make: Make,
    x: NetBlob,
    weight: AnyArray,
    bias: AnyArray | None,
    sliding: Sliding,
    settings: dict[str, Any],
) -> NetBlob:
    weight, dilation, pad = _evenly_padded(weight, sliding)
    settings |= {"kernel_size": _short(weight.shape[2:])}
    settings |= {"pad": _short(pad)} if any(pad) else {}
    settings |= {"stride": _short(sliding.stride)} if {*sliding.stride} != {1} else {}
    settings |= {"dilation": _short(dilation)} if {*dilation} != {1} else {}
    settings |= {"group": sliding.group} if sliding.group > 1 else {}
    if bias is None:
        return net.layer(make, [x], weight, bias_term=False, **settings)
    return net.layer(make, [x], weight, bias, **settings)


def _evenly_padded(weight: AnyArray, sliding: Sliding) -> tuple[AnyArray, Numbers, Numbers]:
    """Caffe pads both ends alike; where they differ, the kernel gets zeros on the other side to make up for it."""
    pad = tuple(max(begin, end, 0) for begin, end in zip(sliding.begin, sliding.end, strict=True))
    sides = list(zip(pad, sliding.begin, sliding.end, strict=True))
    if all(most in (begin, 0) and begin == end for most, begin, end in sides) and min(sliding.begin, default=0) >= 0:
        return weight, sliding.dilation, pad
    weight = _dense(weight, sliding.dilation)
    zeros = [(most - begin, most - end) for most, begin, end in sides]
    return np.pad(weight, [(0, 0), (0, 0), *zeros]), (1,) * len(pad), pad


def _dense(weight: AnyArray, dilation: Numbers) -> AnyArray:
    """The filters with their holes filled by zeros."""
    lengths = [(size - 1) * hole + 1 for size, hole in zip(weight.shape[2:], dilation, strict=True)]
    dense = np.zeros((*weight.shape[:2], *lengths), weight.dtype)
    dense[(slice(None), slice(None), *(slice(None, None, hole) for hole in dilation))] = weight
    return dense


def padded(net: NetWriter, x: NetBlob, begin: Sequence[int], end: Sequence[int], part: str = "") -> NetBlob:
    """Zeros around an image: a convolution of every channel with a one. Negative numbers crop."""
    if len(x.shape) - 2 != len(begin):
        raise ConversionError(f"only spatial axes can be padded, and {list(x.shape)} doesn't have {len(begin)}")
    axes, channels = len(begin), x.shape[1]
    sliding = Sliding((1,) * axes, tuple(begin), tuple(end), (1,) * axes, channels)
    return convolve(net, x, np.ones((channels, *(1,) * (axes + 1)), np.float32), None, sliding, part)


def repeated(net: NetWriter, x: NetBlob, times: Sequence[int]) -> NetBlob:
    """Every pixel several times along each spatial axis."""
    axes, channels = len(times), x.shape[1]
    sliding = Sliding(tuple(times), (0,) * axes, (0,) * axes, (1,) * axes, channels)
    return deconvolve(net, x, np.ones((channels, 1, *times), np.float32), None, sliding)


def linear(net: NetWriter, x: NetBlob, weight: AnyArray, bias: AnyArray | None = None) -> NetBlob:
    """The last axis times a matrix, which has a row for every output."""
    if weight.ndim != 2:
        raise ConversionError(f"multiplies by an array of {weight.ndim} axes; Caffe's InnerProduct takes a matrix")
    settings = {"num_output": len(weight), **along(len(x.shape) - 1)}
    if bias is None:
        return net.layer(dsl.InnerProduct, [x], weight, bias_term=False, **settings)
    return net.layer(dsl.InnerProduct, [x], weight, np.broadcast_to(bias.reshape(-1), (len(weight),)), **settings)


def _short(numbers: Sequence[int]) -> int | list[int]:
    """One number where all are the same, as people write it."""
    return numbers[0] if len({*numbers}) == 1 else list(numbers)
