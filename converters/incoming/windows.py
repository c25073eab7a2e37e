"""Writes convolutions, pooling, resizing of images and fully connected layers as Caffe layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from caffe_proto.errors import CaffeError
from converters.incoming.net_writer import LayerConstructor, NetBlob, NetWriter, axis_setting
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.model.weights.match import AnyArray

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class ConvolutionSettings:
    """The settings of a convolution, with one number for each spatial axis. Negative padding crops."""

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
    """Add a convolution."""
    settings = {"num_output": weight.shape[0], "part": part}
    return _slide(net, dsl.Convolution, x, weight, bias, convolution, settings)


def deconvolve(
    net: NetWriter, x: NetBlob, weight: AnyArray, bias: AnyArray | None, convolution: ConvolutionSettings
) -> NetBlob:
    """Add a transposed convolution. The padding is cropped from its result."""
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
    weight, dilation, pad = _with_even_padding(net, weight, convolution)
    settings |= {"kernel_size": _short(weight.shape[2:])}
    settings |= {"pad": _short(pad)} if any(pad) else {}
    settings |= {"stride": _short(convolution.stride)} if {*convolution.stride} != {1} else {}
    settings |= {"dilation": _short(dilation)} if {*dilation} != {1} else {}
    settings |= {"group": convolution.group} if convolution.group > 1 else {}
    if bias is None:
        return net.layer(constructor, [x], weight, bias_term=False, **settings)
    return net.layer(constructor, [x], weight, bias, **settings)


def _with_even_padding(
    net: NetWriter, weight: AnyArray, convolution: ConvolutionSettings
) -> tuple[AnyArray, Numbers, Numbers]:
    """Return the weights, dilation and padding of an equivalent convolution whose padding is the same at both ends.

    Caffe needs equal padding. If the ends differ, zeros are added to the kernel on the other side.
    """
    pad = tuple(max(begin, end, 0) for begin, end in zip(convolution.begin, convolution.end, strict=True))
    sides = list(zip(pad, convolution.begin, convolution.end, strict=True))
    if (
        all(size in (begin, 0) and begin == end for size, begin, end in sides)
        and min(convolution.begin, default=0) >= 0
    ):
        return weight, convolution.dilation, pad
    zeros = [(size - begin, size - end) for size, begin, end in sides]
    lengths = _lengths_without_dilation(weight, convolution.dilation)
    enlarged = math.prod(length + sum(ends) for length, ends in zip(lengths, zeros, strict=True))
    net.charge_zeros(weight.itemsize * (math.prod(weight.shape[:2]) * enlarged - weight.size))
    weight = _without_dilation(weight, convolution.dilation)
    return np.pad(weight, [(0, 0), (0, 0), *zeros]), (1,) * len(pad), pad


def _without_dilation(weight: AnyArray, dilation: Numbers) -> AnyArray:
    """Return the filters with zeros in place of the dilation."""
    dense = np.zeros((*weight.shape[:2], *_lengths_without_dilation(weight, dilation)), weight.dtype)
    dense[(slice(None), slice(None), *(slice(None, None, step) for step in dilation))] = weight
    return dense


def _lengths_without_dilation(weight: AnyArray, dilation: Numbers) -> list[int]:
    return [(size - 1) * step + 1 for size, step in zip(weight.shape[2:], dilation, strict=True)]


def pad_image(net: NetWriter, x: NetBlob, begin: Sequence[int], end: Sequence[int], part: str = "") -> NetBlob:
    """Pad an image with zeros. Negative numbers crop.

    The layer is a convolution of every channel with a single 1.
    """
    if len(x.shape) - 2 != len(begin):
        raise ConversionError(
            f"{len(begin)} axes are padded, but a blob of shape {list(x.shape)} has {len(x.shape) - 2} spatial axes"
        )
    axes, channels = len(begin), x.shape[1]
    convolution = ConvolutionSettings((1,) * axes, tuple(begin), tuple(end), (1,) * axes, channels)
    return convolve(net, x, np.ones((channels, *(1,) * (axes + 1)), np.float32), None, convolution, part)


def repeat_pixels(net: NetWriter, x: NetBlob, times: Sequence[int]) -> NetBlob:
    """Repeat every pixel along each spatial axis."""
    axes, channels = len(times), x.shape[1]
    convolution = ConvolutionSettings(tuple(times), (0,) * axes, (0,) * axes, (1,) * axes, channels)
    return deconvolve(net, x, np.ones((channels, 1, *times), np.float32), None, convolution)


def linear(net: NetWriter, x: NetBlob, weight: AnyArray, bias: AnyArray | None = None) -> NetBlob:
    """Multiply the last axis by a matrix with a row for every output."""
    if weight.ndim != 2:
        raise ConversionError(f"the factor has {weight.ndim} axes, but Caffe's InnerProduct needs a matrix")
    settings = {"num_output": len(weight), **axis_setting(len(x.shape) - 1)}
    if bias is None:
        return net.layer(dsl.InnerProduct, [x], weight, bias_term=False, **settings)
    return net.layer(dsl.InnerProduct, [x], weight, np.broadcast_to(bias.reshape(-1), (len(weight),)), **settings)


def _short(numbers: Sequence[int]) -> int | list[int]:
    """Return a single number if all numbers are the same, else all of them."""
    return numbers[0] if len({*numbers}) == 1 else list(numbers)


@dataclass(frozen=True)
class PoolingWindows:
    """The positions of pooling windows along height and width."""

    kernel: Numbers
    stride: Numbers
    begin: Numbers
    end: Numbers
    ceil: bool = False

    def counts(self, x: NetBlob) -> Numbers:
        """Return the number of windows along both axes. A last window that would start after the image doesn't
        count."""
        return tuple(self._count(x.shape[2 + axis], axis) for axis in (0, 1))

    def _count(self, size: int, axis: int) -> int:
        room = size + self.begin[axis] + self.end[axis] - self.kernel[axis]
        count = (math.ceil if self.ceil else math.floor)(room / self.stride[axis]) + 1
        return count - (self.ceil and (count - 1) * self.stride[axis] >= size + self.begin[axis])

    def areas(self, x: NetBlob, begin: Numbers, end: Numbers) -> AnyArray:
        """Return the area of each window inside the image extended by `begin` and `end`."""
        rows, columns = (self._lengths(x.shape[2 + axis], axis, begin[axis], end[axis], count)
                         for axis, count in enumerate(self.counts(x)))  # fmt: skip
        return np.outer(rows, columns).astype(np.float64)

    def _lengths(self, size: int, axis: int, begin: int, end: int, count: int) -> AnyArray:
        starts = np.arange(count) * self.stride[axis] - self.begin[axis]
        return np.minimum(starts + self.kernel[axis], size + end) - np.maximum(starts, -begin)


def max_pool(net: NetWriter, x: NetBlob, windows: PoolingWindows) -> NetBlob:
    """Return the maximum of every window."""
    settings = _settings(net, x, windows)
    if settings is None:
        sizes = f"{list(windows.begin)} and {list(windows.end)}"
        raise ConversionError(
            f"Caffe's pooling can't produce these windows: kernel {list(windows.kernel)}, padding {sizes}"
        )
    return net.layer(dsl.Pooling, [x], pool="MAX", **settings)


def average_pool(net: NetWriter, x: NetBlob, windows: PoolingWindows, divisors: AnyArray) -> NetBlob:
    """Return the sum of every window divided by its divisor.

    A Scale layer corrects the values where Caffe's divisor differs.
    """
    settings = _settings(net, x, windows)
    if settings is None:
        x = pad_image(net, x, windows.begin, windows.end, "pad")
        windows = PoolingWindows(windows.kernel, windows.stride, (0, 0), (0, 0), windows.ceil)
        settings = _settings(net, x, windows)
    if settings is None:
        raise ConversionError(f"Caffe's pooling can't produce these windows: kernel {list(windows.kernel)}")
    factors = windows.areas(x, windows.begin, windows.begin) / divisors
    top = net.layer(dsl.Pooling, [x], pool="AVE", **settings)
    return top if np.all(factors == 1) else net.layer(dsl.Scale, [top], factors, part="scale", axis=2, num_axes=2)


def global_pool(net: NetWriter, x: NetBlob, pool: str) -> NetBlob:
    """Pool with the whole image as one window."""
    return net.layer(dsl.Pooling, [x], pool=pool, global_pooling=True)


def _settings(net: NetWriter, x: NetBlob, windows: PoolingWindows) -> dict[str, Any] | None:
    """Return settings with which Caffe uses the same windows, or `None`.

    Caffe clips windows at the end of the padding.
    """
    if len(x.shape) != 4:
        raise ConversionError(f"Caffe pools images with 4 axes, but this blob has {len(x.shape)}")
    window_settings = {
        **_sides("kernel", windows.kernel),
        **_sides("stride", windows.stride),
        **_sides("pad", windows.begin),
    }
    for rounding in ("CEIL", "FLOOR"):
        settings = window_settings if rounding == "CEIL" else {**window_settings, "round_mode": rounding}
        try:
            shape = net.shape_of(dsl.Pooling, x, **settings)
        except CaffeError:  # the padding is larger than the kernel
            return None
        if shape[2:] == windows.counts(x):
            return settings
    return None


def _sides(name: str, values: Sequence[int]) -> dict[str, int]:
    """Return a setting for both axes: one number, or _h and _w, or nothing if the value is the default."""
    height, width = values
    if height != width:
        return {f"{name}_h": height, f"{name}_w": width}
    default = {"kernel": None, "stride": 1, "pad": 0}[name]
    return {} if height == default else {"kernel_size" if name == "kernel" else name: height}


class PixelAlignment(Enum):
    """The alignment of a resized image's pixels with those of the source."""

    CORNERS = "asymmetric"  # i * old / new
    MIDDLES = "half_pixel"  # (i + 0.5) * old / new - 0.5
    TORCH_MIDDLES = "pytorch_half_pixel"  # like half_pixel, but 0 if the new image has one pixel
    ENDS = "align_corners"  # i * (old - 1) / (new - 1)


def source_positions(old: int, new: int, alignment: PixelAlignment) -> AnyArray:
    """Return the source position of each new pixel along an axis."""
    index = np.arange(new)
    if alignment is PixelAlignment.ENDS:
        return index * ((old - 1) / (new - 1) if new > 1 else 0)
    if alignment is PixelAlignment.CORNERS or (alignment is PixelAlignment.TORCH_MIDDLES and new == 1):
        return index * (old / new)
    return (index + 0.5) * (old / new) - 0.5


# the source pixels that the modes of ResizeNearestNeighbor select along an axis
_ROUNDING_MODES: dict[str | None, Callable[[int, int], AnyArray]] = {
    None: lambda old, new: np.floor(source_positions(old, new, PixelAlignment.CORNERS)),
    "half_pixel_centers": lambda old, new: np.floor(source_positions(old, new, PixelAlignment.MIDDLES) + 0.5),
    "half_pixel_onnx": lambda old, new: np.floor(source_positions(old, new, PixelAlignment.MIDDLES)),
    "align_corners": lambda old, new: np.floor(source_positions(old, new, PixelAlignment.ENDS) + 0.5),
}


def nearest(net: NetWriter, x: NetBlob, positions: Sequence[AnyArray]) -> NetBlob:
    """Resize an image to the source pixels at the given positions of rows and columns."""
    old, size = _image(x), [len(index) for index in positions]
    indices = [np.clip(index, 0, length - 1) for index, length in zip(positions, old, strict=True)]
    times = [max(new // length, 1) for new, length in zip(size, old, strict=True)]
    if all(
        _agree(index, np.arange(length).repeat(most)) for index, length, most in zip(indices, old, times, strict=True)
    ):
        return x if {*times} == {1} else repeat_pixels(net, x, times)
    for mode, choose in _ROUNDING_MODES.items():
        if all(_agree(index, np.clip(choose(length, len(index)), 0, length - 1))
               for index, length in zip(indices, old, strict=True)):  # fmt: skip
            return net.layer(dsl.ResizeNearestNeighbor, [x], **_size_settings(size, mode))
    raise ConversionError(f"no Caffe layer selects these pixels when resizing {list(old)} to {size}")


def _agree(a: AnyArray, b: AnyArray) -> bool:
    return len(a) == len(b) and bool(np.all(a == b))


def bilinear(net: NetWriter, x: NetBlob, size: Sequence[int], alignment: PixelAlignment) -> NetBlob:
    """Resize an image bilinearly.

    This uses PSPNet's Interp or Synopsys' ResizeBilinear because BVLC Caffe doesn't have such a layer.
    """
    if tuple(size) == _image(x):
        return x
    if alignment is PixelAlignment.ENDS:
        return net.layer(dsl.Interp, [x], height=size[0], width=size[1])
    mode = {PixelAlignment.MIDDLES: "half_pixel_centers", PixelAlignment.TORCH_MIDDLES: "pytorch_half_pixel"}.get(
        alignment
    )
    return net.layer(dsl.ResizeBilinear, [x], **_size_settings(size, mode))


def _size_settings(size: Sequence[int], mode: str | None) -> dict[str, Any]:
    settings = {"output_height": size[0], "output_width": size[1], "data_format": "NCHW"}
    return {**settings, mode: True} if mode else settings


def _image(x: NetBlob) -> tuple[int, ...]:
    if len(x.shape) != 4:
        raise ConversionError(f"only images with 4 axes can be resized, but this blob has {len(x.shape)}")
    return x.shape[2:]
