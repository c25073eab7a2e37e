"""The import of ONNX's operators with weights or windows: convolutions, matrix products, pooling, padding."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from converters.from_onnx.node import OnnxNode, Operators
from converters.incoming.arithmetic import affine
from converters.incoming.convolution import ConvolutionSettings, Numbers, convolve, deconvolve, linear, pad_image
from converters.incoming.net import NetBlob, NetWriter, Tops
from converters.incoming.pooling import PoolingWindows, average_pool, global_pool, max_pool
from netdsl.errors import ConversionError


def _conv(net: NetWriter, node: OnnxNode) -> Tops:
    x, weight = node.blob(), node.array(1)
    dilation = _numbers(node, "dilations", weight.ndim - 2)
    extent = [(size - 1) * step + 1 for size, step in zip(weight.shape[2:], dilation, strict=True)]
    stride = _numbers(node, "strides", weight.ndim - 2)
    convolution = ConvolutionSettings(stride, *_pads(node, x, extent, stride), dilation, node.get("group", 1))
    return convolve(net, x, weight, node.optional(2), convolution)


def _conv_transpose(net: NetWriter, node: OnnxNode) -> Tops:
    x, weight = node.blob(), node.array(1)
    axes = weight.ndim - 2
    stride, dilation = _numbers(node, "strides", axes), _numbers(node, "dilations", axes)
    extra = _numbers(node, "output_padding", axes, 0)
    pads = node.get("pads", [0] * 2 * axes)
    begin, end = tuple(pads[:axes]), tuple(pad - cut for pad, cut in zip(pads[axes:], extra, strict=True))
    if node.get("output_shape") or _automatic(node):
        sizes = zip(x.shape[2:], stride, weight.shape[2:], dilation, strict=True)
        unpadded = [(size - 1) * step + (kernel - 1) * hole + 1 for size, step, kernel, hole in sizes]
        target = node.get("output_shape") or [size * step for size, step in zip(x.shape[2:], stride, strict=True)]
        total = [length - target_length for length, target_length in zip(unpadded, target[-axes:], strict=True)]
        begin, end = _halved(total, _automatic(node))
    return deconvolve(
        net, x, weight, node.optional(2), ConvolutionSettings(stride, begin, end, dilation, node.get("group", 1))
    )


def _numbers(node: OnnxNode, name: str, axes: int, default: int = 1) -> Numbers:
    return tuple(node.get(name) or [default] * axes)


def _automatic(node: OnnxNode) -> str:
    """The automatic padding of a node: SAME_UPPER, SAME_LOWER or ""."""
    how = str(node.get("auto_pad", "NOTSET"))
    return how if how.startswith("SAME") else ""


def _pads(node: OnnxNode, x: NetBlob, extent: Sequence[int], stride: Sequence[int]) -> tuple[Numbers, Numbers]:
    """The padding at both ends of every axis."""
    axes = len(extent)
    if _automatic(node):
        sizes = zip(x.shape[2:], extent, stride, strict=True)
        total = [max((math.ceil(size / step) - 1) * step + reach - size, 0) for size, reach, step in sizes]
        return _halved(total, _automatic(node))
    pads = node.get("pads") or [0] * 2 * axes
    return tuple(pads[:axes]), tuple(pads[axes:])


def _halved(total: Sequence[int], how: str) -> tuple[Numbers, Numbers]:
    smaller = tuple(pad // 2 for pad in total)
    larger = tuple(pad - pad // 2 for pad in total)
    return (larger, smaller) if how == "SAME_LOWER" else (smaller, larger)


def _gemm(net: NetWriter, node: OnnxNode) -> Tops:
    x, weight = node.blob(), node.array(1)
    if node.get("transA", 0):
        raise ConversionError("transA: the batch can't be an axis of the sum")
    weight = node.get("alpha", 1.0) * (weight if node.get("transB", 0) else weight.T)
    bias = node.optional(2)
    if bias is not None and bias.shape[:-1] not in ((), (1,)):
        raise ConversionError(f"its bias of shape {list(bias.shape)} differs within the batch")
    return linear(net, x, weight, None if bias is None else node.get("beta", 1.0) * bias)


def _matmul(net: NetWriter, node: OnnxNode) -> Tops:
    return linear(net, node.blob(), node.array(1).T)


def _windows(node: OnnxNode, x: NetBlob) -> PoolingWindows:
    kernel = tuple(node.get("kernel_shape"))
    if {*node.get("dilations", [1])} != {1}:
        raise ConversionError("dilations: Caffe's pooling has no holes")
    if len(x.shape) != 4 or len(kernel) != 2:
        raise ConversionError(f"Caffe pools images of 4 axes, and this has {len(x.shape)}")
    stride = _numbers(node, "strides", 2)
    return PoolingWindows(kernel, stride, *_pads(node, x, kernel, stride), bool(node.get("ceil_mode", 0)))


def _max_pool(net: NetWriter, node: OnnxNode) -> Tops:
    x = node.blob()
    return max_pool(net, x, _windows(node, x))


def _average_pool(net: NetWriter, node: OnnxNode) -> Tops:
    x = node.blob()
    windows = _windows(node, x)
    inside = (windows.begin, windows.end) if node.get("count_include_pad", 0) else ((0, 0), (0, 0))
    return average_pool(net, x, windows, windows.areas(x, *inside))


def _global_average(net: NetWriter, node: OnnxNode) -> Tops:
    return global_pool(net, node.blob(), "AVE")


def _global_max(net: NetWriter, node: OnnxNode) -> Tops:
    return global_pool(net, node.blob(), "MAX")


def _pad(net: NetWriter, node: OnnxNode) -> Tops:
    x, sizes = node.blob(), node.ints("pads", 1) or node.ints("paddings", 1) or []
    axes = node.ints("axes", 3) or list(range(len(sizes) // 2))
    value, count = node.number("value", 2, 0.0), len(axes)
    begin, end = [0] * len(x.shape), [0] * len(x.shape)
    for index, axis in enumerate(axes):
        begin[axis], end[axis] = sizes[index], sizes[count + index]
    if not any(begin + end):
        return x
    if node.get("mode", "constant") != "constant" or any(begin[:2] + end[:2]):
        raise ConversionError("Caffe pads height and width, with zeros")
    if not value:
        return pad_image(net, x, begin[2:], end[2:])
    if not np.isfinite(value):
        raise ConversionError(f"Caffe pads with zeros, not with {value}")
    shifted = pad_image(net, affine(net, x, shift=-value, part="shift"), begin[2:], end[2:])
    return affine(net, shifted, shift=value, part="back")


OPERATORS: Operators = {
    "AveragePool": _average_pool,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average,
    "GlobalMaxPool": _global_max,
    "MatMul": _matmul,
    "MaxPool": _max_pool,
    "Pad": _pad,
}
