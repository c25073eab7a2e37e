"""Caffe's rules for pooling and unpooling, in torch's own functions where they match and in ONNX operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from netdsl.errors import ConversionError, ShapeError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, Length, computed, flattened, length_of, listed, reshaped, whole
from netdsl.layer.running import on_cpu
from netdsl.layers._loss import indices_of
from netdsl.layers._window import Numbers, Window

_SMALLEST_SINGLE = -3.4028234663852886e38  # the smallest float32, Caffe's -FLT_MAX


def max_pool(x: Tensor, window: Window, ceil: bool) -> Tensor:
    """Return the largest value in each window. The gradient goes to its first occurrence."""
    lowest = torch.finfo(x.dtype).min
    if on_cpu(x) and window.kernel != (1, 1) and not torch.compiler.is_compiling():
        slow = not x.is_contiguous(memory_format=torch.channels_last)  # torch takes ten times as long in this layout
        learns = x.requires_grad and torch.is_grad_enabled()
        if not learns and (slow or window.kernel == window.stride):
            return _largest(_whole_windows(x, window, ceil, lowest), window)
        if slow and window.stride == (1, 1):
            return max_pool(x.contiguous(memory_format=torch.channels_last), window, ceil).contiguous()
    x, pad, ceil = _prepared(x, window, ceil, lowest)
    return F.max_pool2d(x, window.kernel, window.stride, pad, ceil_mode=ceil)


def _largest(x: Tensor, window: Window) -> Tensor:
    """Return the largest value in each window, along one axis after the other. All windows must be whole.

    torch's own function also writes the position of each value, which takes 8 bytes for each window.
    """
    for axis, size, stride in zip((2, 3), window.kernel, window.stride, strict=True):
        x = reduce(torch.maximum, x.unfold(axis, size, stride).unbind(-1))
    return x


def max_pool_with_mask(x: Tensor, window: Window, ceil: bool) -> tuple[Tensor, Tensor]:
    """Return the largest values and their positions in the bottom's plane as floats.

    A position of -1 is in the padding.
    """
    padded, pad, ceil = _prepared(x, window, ceil, torch.finfo(x.dtype).min)
    values, index = F.max_pool2d(padded, window.kernel, window.stride, pad, ceil_mode=ceil, return_indices=True)
    if padded is not x:
        (height, width), (top, left) = x.shape[2:], window.begin
        row, column = index // padded.shape[3] - top, index % padded.shape[3] - left
        index = torch.where((row < height) & (column < width), row * width + column, -1)
    return values, index.to(x.dtype)


def average_pool(x: Tensor, window: Window, ceil: bool, *, include_pad: bool = True) -> Tensor:
    """Return the sum over each window, divided by its size.

    The size counts the part of the window in the bottom, and with `include_pad` also the part in the padding.
    """
    if window.kernel == x.shape[2:] and not any(window.begin + window.end):
        return x.mean((2, 3), keepdim=True)  # equals avg_pool2d in a fifth of the time
    if fits(x, window, ceil) and not (include_pad and _miscompiled(x, window, ceil)):
        return F.avg_pool2d(x, window.kernel, window.stride, window.begin, ceil, include_pad)
    areas = [_lengths(x, window, ceil, axis, include_pad) for axis in (0, 1)]
    return _sum_pool(x, window, ceil) / (areas[0][:, None] * areas[1])


def weighted_pool(x: Tensor, window: Window, ceil: bool) -> Tensor:
    """Return the average over each window, weighted by the values themselves. This is the expectation of
    `drawn_pool`."""
    total = _sum_pool(x, window, ceil)
    positive = total > 0
    return torch.where(positive, _sum_pool(x * x, window, ceil) / torch.where(positive, total, 1), 0)


def drawn_pool(x: Tensor, window: Window, ceil: bool) -> Tensor:
    """Return a random value from each window, drawn with a probability proportional to the value."""
    x = _whole_windows(x, window, ceil, 0)
    for axis, size, stride in zip((2, 3), window.kernel, window.stride, strict=True):
        x = x.unfold(axis, size, stride)
    values = x.flatten(4)
    sums = values.detach().cumsum(4)
    reached = sums >= torch.rand_like(sums[..., :1]) * sums[..., -1:]
    return values.gather(4, reached.int().argmax(4, keepdim=True)).squeeze(4)


def _sum_pool(x: Tensor, window: Window, ceil: bool) -> Tensor:
    """Return the sum over each window."""
    x, pad, ceil = _prepared(x, window, ceil, 0)
    return F.avg_pool2d(x, window.kernel, window.stride, pad, ceil, divisor_override=1)


def fits(x: Tensor, window: Window, ceil: bool) -> bool:
    """Return whether torch places the same windows as Caffe.

    torch pads both ends equally, by half a kernel at most. Like Caffe, it drops a last window that would start in the
    padding. It also drops one that would start behind a bottom without padding.
    """
    (top, left), (height, width), (down, right) = window.begin, window.kernel, window.stride
    half = 2 * top <= height and 2 * left <= width
    kept = not ceil or top or left or (down <= height and right <= width)
    return window.begin == window.end and half and bool(kept or _last_inside(x, window))


def _last_inside(x: Tensor, window: Window) -> bool:
    lasts = _last_starts(x, window, ceil=True)
    return all(last < size for last, size in zip(lasts, x.shape[2:], strict=True))


def _miscompiled(x: Tensor, window: Window, ceil: bool) -> bool:
    """Return whether a last window extends beyond the padding.

    Compiled averages then have wrong gradients (pytorch issue 198119).
    """
    if not ceil or not torch.compiler.is_compiling() or torch.compiler.is_exporting():
        return False
    axes = zip(_last_starts(x, window, ceil), window.kernel, x.shape[2:], window.end, strict=True)
    return any(last + kernel > size + end for last, kernel, size, end in axes)


def _last_starts(x: Tensor, window: Window, ceil: bool) -> list[int]:
    counts = pooled_size(x.shape[2:], window, ceil)
    return [(count - 1) * stride - begin
            for count, stride, begin in zip(counts, window.stride, window.begin, strict=True)]  # fmt: skip


def pooled_size(sizes: Sequence[int], window: Window, ceil: bool) -> Numbers:
    """Return the number of windows along each axis."""
    padded = any(window.begin) or any(window.end)
    axes = zip(sizes, window.kernel, window.stride, window.begin, window.end, strict=True)
    return tuple(_count(size, kernel, stride, begin, end, ceil, padded) for size, kernel, stride, begin, end in axes)


def _count(size: int, kernel: int, stride: int, begin: int, end: int, ceil: bool, padded: bool) -> int:
    room = size + begin + end - kernel
    count = (-(-room // stride) if ceil else room // stride) + 1
    return count - 1 if padded and (count - 1) * stride >= size + begin else count


def _whole_windows(x: Tensor, window: Window, ceil: bool, value: float) -> Tensor:
    """Return the padded bottom in which all windows are whole."""
    axes = zip(_last_starts(x, window, ceil), window.kernel, x.shape[2:], strict=True)
    ends = [max(0, last + kernel - size) for last, kernel, size in axes]
    sides = [window.begin[1], ends[1], window.begin[0], ends[0]]
    return F.pad(x, sides, value=value) if any(sides) else x


def _prepared(x: Tensor, window: Window, ceil: bool, value: float) -> tuple[Tensor, Numbers, bool]:
    """Return the bottom, the padding and the ceil_mode with which torch computes the same values as Caffe."""
    if fits(x, window, ceil):
        return x, window.begin, ceil
    return _whole_windows(x, window, ceil, value), (0, 0), False


def _lengths(x: Tensor, window: Window, ceil: bool, axis: int, include_pad: bool) -> Tensor:
    """Return the length of each window that counts along one axis."""
    size, count = x.shape[2 + axis], pooled_size(x.shape[2:], window, ceil)[axis]
    start = torch.arange(count, dtype=x.dtype, device=x.device) * window.stride[axis] - window.begin[axis]
    stop = (start + window.kernel[axis]).clamp(max=size + (window.end[axis] if include_pad else 0))
    return stop - (start if include_pad else start.clamp(min=0))


@dataclass(frozen=True)
class _Placed:
    """The windows over a bottom: their number, and the padding behind the bottom with which all of them are whole.

    If a size is UNKNOWN, so are the numbers. The padding is then right for bottoms of all sizes.
    """

    window: Window
    sizes: Numbers
    counts: Numbers
    ends: Numbers

    @classmethod
    def of(cls, sizes: Numbers, window: Window, ceil: bool) -> _Placed:
        """Return the windows over a bottom of these sizes."""
        if UNKNOWN in sizes:
            return cls(window, sizes, (UNKNOWN,) * len(sizes), _ends_of_any_size(window, ceil))
        counts = pooled_size(sizes, window, ceil)
        axes = zip(sizes, counts, window.kernel, window.stride, window.begin, strict=True)
        ends = [(count - 1) * stride - begin + kernel - size for size, count, kernel, stride, begin in axes]
        return cls(window, sizes, counts, tuple(max(0, end) for end in ends))

    @property
    def global_(self) -> bool:
        """Whether the only window covers the whole bottom."""
        return self.window.kernel == self.sizes and not any(self.window.begin + self.window.end)

    def padded(self, g: OnnxGraph, x: str, value: float) -> tuple[str, list[int]]:
        """Return the bottom and the padding with which ONNX uses the same windows.

        ONNX's padding must be less than the kernel.
        """
        pads = [*self.window.begin, *self.ends]
        if all(pad < kernel for pad, kernel in zip(pads, self.window.kernel * 2, strict=True)):
            return x, pads
        return self.surrounded(g, x, value), [0, 0, 0, 0]

    def surrounded(self, g: OnnxGraph, x: str, value: float) -> str:
        """Return the bottom with a value around it, in which all windows are whole."""
        (top, left), (bottom, right) = self.window.begin, self.ends
        return g.node("Pad", x, g.constant([0, 0, top, left, 0, 0, bottom, right]), g.constant(value))

    def counting_inside(self) -> dict[str, Any]:
        """Return the attributes with which ONNX uses the same windows and counts only what is inside the bottom.

        The padding is the net's own if possible, because ncnn needs equal sides.
        """
        begin, ends, rounding = self.window.begin, self.window.end, {}
        axes = zip(self.sizes, self.window.kernel, self.window.stride, begin, ends, strict=True)
        windows = [(size + first + last - kernel, stride) for size, kernel, stride, first, last in axes]
        if tuple(room // stride + 1 for room, stride in windows) != self.counts:
            rounding = {"ceil_mode": 1}
            if tuple(-(-room // stride) + 1 for room, stride in windows) != self.counts:
                ends, rounding = self.ends, {}
        pads = [*begin, *ends]
        return {"kernel_shape": self.window.kernel, "strides": self.window.stride, "pads": pads, **rounding}

    def share(self, axis: int, *, of_padding: bool) -> NDArray[np.float64]:
        """Return the part of the kernel that counts in Caffe's divisor along an axis.

        The part in the padding counts only with `of_padding`. The part behind the padding never counts.
        """
        size, kernel, begin = self.sizes[axis], self.window.kernel[axis], self.window.begin[axis]
        start = np.arange(self.counts[axis]) * self.window.stride[axis] - begin
        stop = np.minimum(start + kernel, size + (self.window.end[axis] if of_padding else 0))
        return (stop - (start if of_padding else np.maximum(start, 0))) / kernel


def _ends_of_any_size(window: Window, ceil: bool) -> Numbers:
    """Return the padding behind a bottom with which rounding down gives Caffe's number of windows for any size.

    Rounding up is rounding down after the addition of a stride minus one. Caffe's rule: if there is any padding, a last
    window that would start behind the bottom is dropped. The padding behind it must then be less than the kernel.
    """
    if not ceil:
        return window.end
    axes = zip(window.kernel, window.stride, window.end, strict=True)
    padded = any(window.begin + window.end)
    return tuple(min(end + stride - 1, kernel - 1) if padded else stride - 1 for kernel, stride, end in axes)


def sizes_of(g: OnnxGraph, bottom: str) -> Numbers:
    """Return the height and width of a bottom in ONNX. Sizes that can change are UNKNOWN."""
    return g.shape(bottom)[2:]


def max_pool_onnx(g: OnnxGraph, x: str, window: Window, ceil: bool) -> str:
    """Write `max_pool` in ONNX operators."""
    placed = _Placed.of(sizes_of(g, x), window, ceil)
    if placed.global_:
        return g.node("GlobalMaxPool", x)
    x, pads = placed.padded(g, x, _SMALLEST_SINGLE)
    return g.node("MaxPool", x, kernel_shape=window.kernel, strides=window.stride, pads=pads)


def max_pool_with_mask_onnx(g: OnnxGraph, x: str, window: Window, ceil: bool) -> tuple[str, str]:
    """Write `max_pool_with_mask` in ONNX operators. ONNX counts positions over the whole blob."""
    placed = _Placed.of(sizes_of(g, x), window, ceil)
    padded, pads = placed.padded(g, x, _SMALLEST_SINGLE)
    if padded != x:
        raise ConversionError(
            "can't be exported with a mask of windows that extend beyond the bottom; remove the mask or change pad"
        )
    places = listed(g, computed(g, "Mul", length_of(g, x, 2), length_of(g, x, 3)))
    values, index = g.nodes("MaxPool", x, outputs=2, kernel_shape=window.kernel, strides=window.stride, pads=pads)
    return values, g.to_float(g.node("Mod", index, places))


def average_pool_onnx(
    g: OnnxGraph, x: str, sizes: Numbers, window: Window, ceil: bool, *, include_pad: bool = True
) -> str:
    """Write `average_pool` in ONNX operators.

    OpenCV ignores count_include_pad, and MNN ignores that the sides of the padding differ. ONNX's operator therefore
    only counts what is inside the bottom, and a factor follows.
    """
    placed = _Placed.of(sizes, window, ceil)
    if placed.global_:
        return g.node("GlobalAveragePool", x)
    if UNKNOWN in placed.sizes:
        return _average_of_any_size_onnx(g, x, placed, include_pad=include_pad)
    counted = np.outer(*(placed.share(axis, of_padding=include_pad) for axis in (0, 1)))
    inside = np.outer(*(placed.share(axis, of_padding=False) for axis in (0, 1)))
    if (inside <= 0).any():  # a window is outside of the bottom
        return g.node("Div", _by_kernel(g, x, placed), g.constant(counted))
    average = g.node("AveragePool", x, **placed.counting_inside())
    return average if (inside == counted).all() else g.node("Mul", average, g.constant(inside / counted))


def _average_of_any_size_onnx(g: OnnxGraph, x: str, placed: _Placed, *, include_pad: bool) -> str:
    """Write `average_pool` in ONNX operators for bottoms of any size. Padding that counts is added to the bottom."""
    window, (top, left), (bottom, right) = placed.window, placed.window.begin, placed.window.end
    pads = [top, left, *placed.ends]
    if include_pad and any(window.begin + window.end):
        x = g.node("Pad", x, g.constant([0, 0, top, left, 0, 0, bottom, right]), g.constant(0.0))
        pads = [0, 0, placed.ends[0] - bottom, placed.ends[1] - right]
    if any(pad >= kernel for pad, kernel in zip(pads, window.kernel * 2, strict=True)):
        raise ConversionError(
            "can't be exported for images of any size, because a window can be behind the image; lower stride, or "
            "leave the sizes fixed"
        )
    return g.node("AveragePool", x, kernel_shape=window.kernel, strides=window.stride, pads=pads)


def weighted_pool_onnx(g: OnnxGraph, x: str, window: Window, ceil: bool) -> str:
    """Write `weighted_pool` in ONNX operators. It is 0 where the sum isn't positive."""
    placed = _Placed.of(sizes_of(g, x), window, ceil)
    total, squares = _by_kernel(g, x, placed), _by_kernel(g, g.node("Mul", x, x), placed)
    positive = g.node("Greater", total, g.constant(0.0))
    return g.node("Where", positive, g.node("Div", squares, total), g.constant(0.0))


def _by_kernel(g: OnnxGraph, x: str, placed: _Placed) -> str:
    """Write the sum over each window, divided by the kernel's size, in ONNX operators."""
    if any((*placed.window.begin, *placed.ends)):
        x = placed.surrounded(g, x, 0.0)
    return g.node("AveragePool", x, kernel_shape=placed.window.kernel, strides=placed.window.stride)


def check_mask(bottoms: Sequence[Shape]) -> None:
    """Raise a `ShapeError` unless the mask has a position for each value of the first bottom."""
    if bottoms[0] != bottoms[1]:
        raise ShapeError(
            f"the mask has shape {list(bottoms[1])}, but the first bottom has shape {list(bottoms[0])}; connect "
            "the mask of the same pooling"
        )


def put_back(x: Tensor, mask: Tensor, height: int, width: int) -> Tensor:
    """Return zeros with the bottom's values at the positions in the mask, for each plane."""
    empty = x.new_zeros(*x.shape[:2], height * width)
    places = indices_of(mask.flatten(2), height * width, "places", "make the top as large as the pooling's bottom")
    return empty.scatter(2, places, x.flatten(2)).view(*x.shape[:2], height, width)


def put_back_onnx(g: OnnxGraph, x: str, mask: str, height: Length, width: Length) -> str:
    """Write `put_back` in ONNX operators."""
    planes, places = g.node("Shape", x, start=0, end=2), listed(g, computed(g, "Mul", height, width))
    empty = g.node("Expand", g.constant(0.0), g.node("Concat", planes, places, axis=0))
    top = g.node("ScatterElements", empty, whole(g, flattened(g, mask, 2)), flattened(g, x, 2), axis=2)
    return reshaped(g, top, 0, 0, height, width)
