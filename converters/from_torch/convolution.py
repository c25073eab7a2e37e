"""The import of torch's operators with weights or windows: convolutions, matrix products, pooling, padding."""

from __future__ import annotations

import numpy as np

from converters.from_torch.call import Call, Counterpart, Counterparts
from converters.incoming.convolution import (
    ConvolutionSettings,
    Numbers,
    convolve,
    deconvolve,
    linear,
    pad_image,
    repeat_pixels,
)
from converters.incoming.net import NetBlob, NetWriter, Tops
from converters.incoming.pooling import PoolingWindows, average_pool, global_pool, max_pool
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray


def _conv(net: NetWriter, call: Call) -> Tops:
    weight = call.array("weight")
    axes = weight.ndim - 2
    stride, dilation = call.numbers("stride", axes), call.numbers("dilation", axes)
    begin, end = _padding(call, weight, dilation)
    convolution = ConvolutionSettings(stride, begin, end, dilation, call.get("groups"))
    return convolve(net, call.blob("input"), weight, call.optional("bias"), convolution)


def _padding(call: Call, weight: AnyArray, dilation: Numbers) -> tuple[Numbers, Numbers]:
    """The padding at both ends of every axis; torch's rule: 'same' pads more at the end."""
    padding = call.get("padding")
    if padding == "same":
        total = [(size - 1) * step for size, step in zip(weight.shape[2:], dilation, strict=True)]
        return tuple(both_ends // 2 for both_ends in total), tuple(both_ends - both_ends // 2 for both_ends in total)
    both_ends = (0,) * len(dilation) if padding == "valid" else call.numbers("padding", len(dilation))
    return both_ends, both_ends


def _conv_transpose(net: NetWriter, call: Call) -> Tops:
    weight = call.array("weight")
    stride, dilation, padding, extra = (
        call.numbers(name, weight.ndim - 2) for name in ("stride", "dilation", "padding", "output_padding")
    )
    end = tuple(size - more for size, more in zip(padding, extra, strict=True))
    convolution = ConvolutionSettings(stride, padding, end, dilation, call.get("groups"))
    return deconvolve(net, call.blob("input"), weight, call.optional("bias"), convolution)


def _linear(net: NetWriter, call: Call) -> Tops:
    return linear(net, call.blob("input"), call.array("weight"), call.optional("bias"))


def _matmul(second: str) -> Counterpart:
    return lambda net, call: linear(net, call.blob(), call.array(second).T)


def _addmm(net: NetWriter, call: Call) -> Tops:
    if call.get("beta") != 1 or call.get("alpha") != 1:
        raise ConversionError("beta and alpha: Caffe's InnerProduct has no factors")
    return linear(net, call.blob("mat1"), call.array("mat2").T, call.array("self"))


def _windows(call: Call) -> PoolingWindows:
    kernel, padding = call.numbers("kernel_size", 2), call.numbers("padding", 2)
    stride = call.numbers("stride", 2) if call.get("stride") else kernel
    return PoolingWindows(kernel, stride, padding, padding, call.get("ceil_mode"))


def _max_pool(net: NetWriter, call: Call) -> Tops:
    if {*call.numbers("dilation", 2)} != {1}:
        raise ConversionError("dilation: Caffe's pooling has no holes")
    return max_pool(net, call.blob(), _windows(call))


def _max_pool_with_indices(net: NetWriter, call: Call) -> Tops:
    """The pooled values; the indices, which are the second result, can't be converted."""
    top = _max_pool(net, call)
    assert isinstance(top, NetBlob)
    return [top]


def _average_pool(net: NetWriter, call: Call) -> Tops:
    x, windows, fixed = call.blob(), _windows(call), call.get("divisor_override")
    inside = windows.begin if call.get("count_include_pad") else (0, 0)
    areas = windows.areas(x, inside, inside)
    return average_pool(net, x, windows, np.full_like(areas, fixed) if fixed else areas)


def _adaptive_average(net: NetWriter, call: Call) -> Tops:
    x, windows = call.blob(), _adaptive_windows(call)
    if isinstance(windows, NetBlob):
        return windows
    if windows.kernel == x.shape[2:]:
        return global_pool(net, x, "AVE")
    if windows.kernel == (1, 1):
        size = call.numbers("output_size", 2)
        return repeat_pixels(net, x, [target // current for target, current in zip(size, x.shape[2:], strict=True)])
    return average_pool(net, x, windows, windows.areas(x, (0, 0), (0, 0)))


def _adaptive_max(net: NetWriter, call: Call) -> Tops:
    x, windows = call.blob(), _adaptive_windows(call)
    if isinstance(windows, NetBlob):
        return [windows]
    return [global_pool(net, x, "MAX") if windows.kernel == x.shape[2:] else max_pool(net, x, windows)]


def _adaptive_windows(call: Call) -> NetBlob | PoolingWindows:
    """The windows that make a result of the requested size; the blob itself if it has that size."""
    x = call.blob()
    old, size = x.shape[2:], call.numbers("output_size", 2)
    if len(old) != 2 or any(current % target and target % current for current, target in zip(old, size, strict=True)):
        raise ConversionError(
            f"{list(old)} to {list(size)}: Caffe's windows are all alike, so one must divide the other"
        )
    if old == size:
        return x
    kernel = tuple(max(current // target, 1) for current, target in zip(old, size, strict=True))
    return PoolingWindows(kernel, kernel, (0, 0), (0, 0))


def _pad(net: NetWriter, call: Call) -> Tops:
    x, sizes = call.blob(), call.get("pad")
    if call.get("value"):
        raise ConversionError(f"Caffe pads with zeros, not with {call.get('value')}")
    pairs = list(zip(sizes[::2], sizes[1::2], strict=True))[::-1]  # torch counts from the last axis
    pairs = [(0, 0)] * (len(x.shape) - 2 - len(pairs)) + pairs
    return pad_image(net, x, [begin for begin, _ in pairs], [end for _, end in pairs])


COUNTERPARTS: Counterparts = {
    "adaptive_avg_pool2d": _adaptive_average,
    "adaptive_max_pool2d": _adaptive_max,
    "addmm": _addmm,
    "avg_pool2d": _average_pool,
    "constant_pad_nd": _pad,
    "conv1d": _conv,
    "conv2d": _conv,
    "conv3d": _conv,
    "conv_transpose1d": _conv_transpose,
    "conv_transpose2d": _conv_transpose,
    "linear": _linear,
    "matmul": _matmul("other"),
    "max_pool2d": _max_pool,
    "max_pool2d_with_indices": _max_pool_with_indices,
    "mm": _matmul("mat2"),
    "pad": _pad,
}
