"""Caffe's rules of pooling in ONNX's operators, whose windows never stick out of the padding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netdsl.errors import ConversionError
from netdsl.layer import OnnxGraph
from netdsl.layers._pooling import pooled_size
from netdsl.layers._window import Numbers, Window

_LEAST = -3.4028234663852886e38  # a single's smallest number, Caffe's -FLT_MAX


@dataclass(frozen=True)
class Placed:
    """The windows over a bottom of a certain size: how many there are, and how far the last ones reach out of it."""

    window: Window
    sizes: Numbers
    counts: Numbers
    ends: Numbers

    @classmethod
    def of(cls, g: OnnxGraph, x: str, window: Window, ceil: bool) -> Placed:
        """Place them."""
        sizes = (g.length(x, 2), g.length(x, 3))
        counts = pooled_size(sizes, window, ceil)
        axes = zip(sizes, counts, window.kernel, window.stride, window.begin, strict=True)
        ends = [(count - 1) * stride - begin + kernel - size for size, count, kernel, stride, begin in axes]
        return cls(window, sizes, counts, tuple(max(0, end) for end in ends))

    @property
    def global_(self) -> bool:
        """Whether the only window is the whole bottom."""
        return self.window.kernel == self.sizes and not any(self.window.begin + self.window.end)

    def padded(self, g: OnnxGraph, x: str, value: float) -> tuple[str, list[int]]:
        """The bottom, and the padding with which ONNX has the same windows; it must be less than a kernel."""
        pads = [*self.window.begin, *self.ends]
        if all(pad < kernel for pad, kernel in zip(pads, self.window.kernel * 2, strict=True)):
            return x, pads
        (top, left), (bottom, right) = self.window.begin, self.ends
        return g.node("Pad", x, g.constant([0, 0, top, left, 0, 0, bottom, right]), g.constant(value)), [0, 0, 0, 0]

    def share(self, axis: int, *, of_padding: bool) -> NDArray[np.float64]:
        """What part of a kernel Caffe divides by along an axis: without what is behind the padding, or with it."""
        size, kernel, begin = self.sizes[axis], self.window.kernel[axis], self.window.begin[axis]
        start = np.arange(self.counts[axis]) * self.window.stride[axis] - begin
        stop = np.minimum(start + kernel, size + (self.window.end[axis] if of_padding else 0))
        return (stop - (start if of_padding else np.maximum(start, 0))) / kernel


def max_pool(g: OnnxGraph, x: str, window: Window, ceil: bool) -> str:
    """The largest value in every window."""
    placed = Placed.of(g, x, window, ceil)
    if placed.global_:
        return g.node("GlobalMaxPool", x)
    x, pads = placed.padded(g, x, _LEAST)
    return g.node("MaxPool", x, kernel_shape=window.kernel, strides=window.stride, pads=pads)


def max_pool_with_mask(g: OnnxGraph, x: str, window: Window, ceil: bool) -> tuple[str, str]:
    """Also where in its plane every largest value is; ONNX counts places over the whole blob."""
    placed = Placed.of(g, x, window, ceil)
    padded, pads = placed.padded(g, x, _LEAST)
    if padded != x:
        raise ConversionError("has windows outside of the bottom, whose mask has no ONNX form")
    values, index = g.nodes("MaxPool", x, outputs=2, kernel_shape=window.kernel, strides=window.stride, pads=pads)
    return values, g.to_float(g.node("Mod", index, g.constant(math.prod(placed.sizes))))


def average_pool(g: OnnxGraph, x: str, window: Window, ceil: bool, *, include_pad: bool = True) -> str:
    """The sum over every window divided by how much of it is in the bottom with its padding, or in the bottom alone."""
    placed = Placed.of(g, x, window, ceil)
    if placed.global_:
        return g.node("GlobalAveragePool", x)
    shares = [placed.share(axis, of_padding=include_pad) for axis in (0, 1)]
    average = _by_kernel(g, x, placed)
    if all((share == 1).all() for share in shares):
        return average
    return g.node("Div", average, g.constant(np.outer(*shares)))


def weighted_pool(g: OnnxGraph, x: str, window: Window, ceil: bool) -> str:
    """The average over every window where each value is weighed by itself, or 0 where their sum isn't positive."""
    placed = Placed.of(g, x, window, ceil)
    total, squares = _by_kernel(g, x, placed), _by_kernel(g, g.node("Mul", x, x), placed)
    positive = g.node("Greater", total, g.constant(0.0))
    return g.node("Where", positive, g.node("Div", squares, total), g.constant(0.0))


def _by_kernel(g: OnnxGraph, x: str, placed: Placed) -> str:
    """The sum over every window divided by the kernel's size."""
    window = placed.window
    x, pads = placed.padded(g, x, 0.0)
    return g.node("AveragePool", x, kernel_shape=window.kernel, strides=window.stride, pads=pads, count_include_pad=1)
