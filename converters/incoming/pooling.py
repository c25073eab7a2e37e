"""Pooling as Caffe layers, with the rounding mode that puts the windows in the same places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caffe_proto.errors import CaffeError
from converters.incoming.convolution import Numbers, pad_image
from converters.incoming.net import NetBlob, NetWriter
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray


@dataclass(frozen=True)
class PoolingWindows:
    """The positions of pooling windows along height and width."""

    kernel: Numbers
    stride: Numbers
    begin: Numbers
    end: Numbers
    ceil: bool = False

    def counts(self, x: NetBlob) -> Numbers:
        """The number of windows along both axes. A last window that would start after the image doesn't count."""
        return tuple(self._count(x.shape[2 + axis], axis) for axis in (0, 1))

    def _count(self, size: int, axis: int) -> int:
        room = size + self.begin[axis] + self.end[axis] - self.kernel[axis]
        count = (math.ceil if self.ceil else math.floor)(room / self.stride[axis]) + 1
        return count - (self.ceil and (count - 1) * self.stride[axis] >= size + self.begin[axis])

    def areas(self, x: NetBlob, begin: Numbers, end: Numbers) -> AnyArray:
        """The area of every window that lies in the image extended by `begin` and `end`."""
        rows, columns = (self._lengths(x.shape[2 + axis], axis, begin[axis], end[axis], count)
                         for axis, count in enumerate(self.counts(x)))  # fmt: skip
        return np.outer(rows, columns).astype(np.float64)

    def _lengths(self, size: int, axis: int, begin: int, end: int, count: int) -> AnyArray:
        starts = np.arange(count) * self.stride[axis] - self.begin[axis]
        return np.minimum(starts + self.kernel[axis], size + end) - np.maximum(starts, -begin)


def max_pool(net: NetWriter, x: NetBlob, windows: PoolingWindows) -> NetBlob:
    """The maximum of every window."""
    settings = _settings(net, x, windows)
    if settings is None:
        sizes = f"{list(windows.begin)} and {list(windows.end)}"
        raise ConversionError(f"Caffe's pooling has no such windows: kernel {list(windows.kernel)}, padding {sizes}")
    return net.layer(dsl.Pooling, [x], pool="MAX", **settings)


def average_pool(net: NetWriter, x: NetBlob, windows: PoolingWindows, divisors: AnyArray) -> NetBlob:
    """The sum of every window divided by its divisor; a Scale layer corrects it where Caffe's divisor differs."""
    settings = _settings(net, x, windows)
    if settings is None:
        x = pad_image(net, x, windows.begin, windows.end, "pad")
        windows = PoolingWindows(windows.kernel, windows.stride, (0, 0), (0, 0), windows.ceil)
        settings = _settings(net, x, windows)
    if settings is None:
        raise ConversionError(f"Caffe's pooling has no such windows: kernel {list(windows.kernel)}")
    factors = windows.areas(x, windows.begin, windows.begin) / divisors
    top = net.layer(dsl.Pooling, [x], pool="AVE", **settings)
    return top if np.all(factors == 1) else net.layer(dsl.Scale, [top], factors, part="scale", axis=2, num_axes=2)


def global_pool(net: NetWriter, x: NetBlob, pool: str) -> NetBlob:
    """Pooling with the whole image as one window."""
    return net.layer(dsl.Pooling, [x], pool=pool, global_pooling=True)


def _settings(net: NetWriter, x: NetBlob, windows: PoolingWindows) -> dict[str, Any] | None:
    """Settings with which Caffe has the same windows, or None. Caffe clips windows at the end of the padding."""
    if len(x.shape) != 4:
        raise ConversionError(f"Caffe pools images of 4 axes, and this has {len(x.shape)}")
    window_settings = {
        **_sides("kernel", windows.kernel),
        **_sides("stride", windows.stride),
        **_sides("pad", windows.begin),
    }
    for rounding in ("CEIL", "FLOOR"):
        settings = window_settings if rounding == "CEIL" else {**window_settings, "round_mode": rounding}
        try:
            shape = net.shape_of(dsl.Pooling, x, **settings)
        except CaffeError:  # a padding larger than the kernel
            return None
        if shape[2:] == windows.counts(x):
            return settings
    return None


def _sides(name: str, values: Sequence[int]) -> dict[str, int]:
    """A setting for both axes: one number, or _h and _w, or nothing for the default."""
    height, width = values
    if height != width:
        return {f"{name}_h": height, f"{name}_w": width}
    default = {"kernel": None, "stride": 1, "pad": 0}[name]
    return {} if height == default else {"kernel_size" if name == "kernel" else name: height}
