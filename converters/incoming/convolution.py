"""Convolutions and fully connected layers as Caffe layers, also with uneven padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from converters.incoming.net import LayerConstructor, NetBlob, NetWriter, axis_setting
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class ConvolutionSettings:
    """The settings of a convolution, a number for each spatial axis. Negative padding crops."""

    stride: Numbers
    begin: Numbers
    end: Numbers
    dilation: Numbers
    group: int = 1


def convolve(
    net: NetWriter,
    x: NetBlob,
    weight: AnyArray,
    bias: AnyArray | None,
    convolution: ConvolutionSettings,
    part: str = "",
) -> NetBlob:
    """A convolution."""
    settings = {"num_output": weight.shape[0], "part": part}
    return _slide(net, dsl.Convolution, x, weight, bias, convolution, settings)


def deconvolve(
    net: NetWriter, x: NetBlob, weight: AnyArray, bias: AnyArray | None, convolution: ConvolutionSettings
) -> NetBlob:
    """A transposed convolution, whose padding is cropped from the result."""
    settings = {"num_output": weight.shape[1] * convolution.group}
    return _slide(net, dsl.Deconvolution, x, weight, bias, convolution, settings)


def _slide(
    net: NetWriter,
    constructor: LayerConstructor,
    x: NetBlob,
    weight: AnyArray,
    bias: AnyArray | None,
    convolution: ConvolutionSettings,
    settings: dict[str, Any],
) -> NetBlob:
    weight, dilation, pad = _with_even_padding(weight, convolution)
    settings |= {"kernel_size": _short(weight.shape[2:])}
    settings |= {"pad": _short(pad)} if any(pad) else {}
    settings |= {"stride": _short(convolution.stride)} if {*convolution.stride} != {1} else {}
    settings |= {"dilation": _short(dilation)} if {*dilation} != {1} else {}
    settings |= {"group": convolution.group} if convolution.group > 1 else {}
    if bias is None:
        return net.layer(constructor, [x], weight, bias_term=False, **settings)
    return net.layer(constructor, [x], weight, bias, **settings)


def _with_even_padding(weight: AnyArray, convolution: ConvolutionSettings) -> tuple[AnyArray, Numbers, Numbers]:
    """Weights, dilation and padding of an equal convolution with the same padding at both ends, as Caffe needs.

    Where the ends differ, zeros are added to the kernel on the other side.
    """
    pad = tuple(max(begin, end, 0) for begin, end in zip(convolution.begin, convolution.end, strict=True))
    sides = list(zip(pad, convolution.begin, convolution.end, strict=True))
    if (
        all(size in (begin, 0) and begin == end for size, begin, end in sides)
        and min(convolution.begin, default=0) >= 0
    ):
        return weight, convolution.dilation, pad
    weight = _without_dilation(weight, convolution.dilation)
    zeros = [(size - begin, size - end) for size, begin, end in sides]
    return np.pad(weight, [(0, 0), (0, 0), *zeros]), (1,) * len(pad), pad


def _without_dilation(weight: AnyArray, dilation: Numbers) -> AnyArray:
    """The filters with dilation replaced by zeros."""
    lengths = [(size - 1) * step + 1 for size, step in zip(weight.shape[2:], dilation, strict=True)]
    dense = np.zeros((*weight.shape[:2], *lengths), weight.dtype)
    dense[(slice(None), slice(None), *(slice(None, None, step) for step in dilation))] = weight
    return dense


def pad_image(net: NetWriter, x: NetBlob, begin: Sequence[int], end: Sequence[int], part: str = "") -> NetBlob:
    """Pad an image with zeros, by a convolution of every channel with a single one. Negative numbers crop."""
    if len(x.shape) - 2 != len(begin):
        raise ConversionError(f"only spatial axes can be padded, and {list(x.shape)} doesn't have {len(begin)}")
    axes, channels = len(begin), x.shape[1]
    convolution = ConvolutionSettings((1,) * axes, tuple(begin), tuple(end), (1,) * axes, channels)
    return convolve(net, x, np.ones((channels, *(1,) * (axes + 1)), np.float32), None, convolution, part)


def repeat_pixels(net: NetWriter, x: NetBlob, times: Sequence[int]) -> NetBlob:
    """Repeat every pixel along each spatial axis."""
    axes, channels = len(times), x.shape[1]
    convolution = ConvolutionSettings(tuple(times), (0,) * axes, (0,) * axes, (1,) * axes, channels)
    return deconvolve(net, x, np.ones((channels, 1, *times), np.float32), None, convolution)


def linear(net: NetWriter, x: NetBlob, weight: AnyArray, bias: AnyArray | None = None) -> NetBlob:
    """Multiply the last axis by a matrix, which has a row for every output."""
    if weight.ndim != 2:
        raise ConversionError(f"multiplies by an array of {weight.ndim} axes; Caffe's InnerProduct takes a matrix")
    settings = {"num_output": len(weight), **axis_setting(len(x.shape) - 1)}
    if bias is None:
        return net.layer(dsl.InnerProduct, [x], weight, bias_term=False, **settings)
    return net.layer(dsl.InnerProduct, [x], weight, np.broadcast_to(bias.reshape(-1), (len(weight),)), **settings)


def _short(numbers: Sequence[int]) -> int | list[int]:
    """One number if all are the same, else all of them."""
    return numbers[0] if len({*numbers}) == 1 else list(numbers)
