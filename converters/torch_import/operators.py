"""Writes torch's operators as Caffe layers. There is a function for each operator, and a table of all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from converters.incoming import arithmetic, shaping, windows
from converters.incoming.arithmetic import AxisReduction
from converters.incoming.net_writer import LayerConstructor, NetBlob, NetWriter, Tops, Value
from converters.incoming.windows import ConvolutionSettings, Numbers, PixelAlignment, PoolingWindows
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.model.weights.files import array_of
from netdsl.model.weights.match import AnyArray


@dataclass(frozen=True)
class Call:
    """The arguments of a call, by their names in the operator's schema. They are blobs, constant tensors and other
    values."""

    arguments: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """Return an argument that isn't a tensor, or the default if it isn't given."""
        return self.arguments.get(name, default)

    def value(self, name: str) -> Value:
        """Return a tensor or a number, as a blob or a constant."""
        return _value(self.arguments[name])

    def blob(self, name: str = "self") -> NetBlob:
        """Return a tensor that must be a blob."""
        value = self.value(name)
        if not isinstance(value, NetBlob):
            raise ConversionError(f"{name} is a constant, but Caffe needs a blob there")
        return value

    def blobs(self, name: str) -> list[NetBlob]:
        """Return a list of tensors that must be blobs."""
        values = [_value(argument) for argument in self.arguments[name]]
        if not all(isinstance(value, NetBlob) for value in values):
            raise ConversionError(f"one of the {name} is a constant, but Caffe needs a blob there")
        return [value for value in values if isinstance(value, NetBlob)]

    def array(self, name: str) -> AnyArray:
        """Return a tensor that must be a constant."""
        value = self.value(name)
        if isinstance(value, NetBlob):
            raise ConversionError(f"{name} depends on the net's inputs, but Caffe needs a constant there")
        return value

    def optional(self, name: str) -> AnyArray | None:
        """Return a constant tensor, or `None` if it is left out."""
        return None if self.get(name) is None else self.array(name)

    def numbers(self, name: str, axes: int) -> tuple[int, ...]:
        """Return the numbers of a setting, one for each axis. In torch, a single number applies to all axes."""
        argument = self.arguments[name]
        values = [argument] if isinstance(argument, int) else list(argument)
        return tuple(values * axes if len(values) == 1 else values)


def _value(argument: Any) -> Value:
    if isinstance(argument, NetBlob):
        return argument
    return array_of(argument) if isinstance(argument, torch.Tensor) else np.asarray(argument)


Counterpart = Callable[[NetWriter, Call], Tops]
Counterparts = dict[str, Counterpart]


def _of_blob(function: Callable[..., NetBlob], *settings: Any) -> Counterpart:
    """Return the conversion of an operator whose only input is a blob."""
    return lambda net, call: function(net, call.blob(), *settings)


def _pair(function: Callable[[NetWriter, Value, Value], NetBlob]) -> Counterpart:
    return lambda net, call: function(net, call.value("self"), call.value("other"))


def _layer_without_settings(constructor: LayerConstructor) -> Counterpart:
    """Return the conversion of an operator to one layer without settings."""
    return lambda net, call: net.layer(constructor, [call.blob()])


def _conv(net: NetWriter, call: Call) -> Tops:
    weight = call.array("weight")
    axes = weight.ndim - 2
    stride, dilation = call.numbers("stride", axes), call.numbers("dilation", axes)
    begin, end = _padding(call, weight, dilation)
    convolution = ConvolutionSettings(stride, begin, end, dilation, call.get("groups"))
    return windows.convolve(net, call.blob("input"), weight, call.optional("bias"), convolution)


def _padding(call: Call, weight: AnyArray, dilation: Numbers) -> tuple[Numbers, Numbers]:
    """Return the padding at both ends of every axis. In torch, 'same' pads more at the end."""
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
    return windows.deconvolve(net, call.blob("input"), weight, call.optional("bias"), convolution)


def _linear(net: NetWriter, call: Call) -> Tops:
    return windows.linear(net, call.blob("input"), call.array("weight"), call.optional("bias"))


def _matmul(second: str) -> Counterpart:
    return lambda net, call: windows.linear(net, call.blob(), call.array(second).T)


def _addmm(net: NetWriter, call: Call) -> Tops:
    if call.get("beta") != 1 or call.get("alpha") != 1:
        raise ConversionError("beta or alpha differs from 1, but Caffe's InnerProduct doesn't have factors")
    return windows.linear(net, call.blob("mat1"), call.array("mat2").T, call.array("self"))


def _windows(call: Call) -> PoolingWindows:
    kernel, padding = call.numbers("kernel_size", 2), call.numbers("padding", 2)
    stride = call.numbers("stride", 2) if call.get("stride") else kernel
    return PoolingWindows(kernel, stride, padding, padding, call.get("ceil_mode"))


def _max_pool(net: NetWriter, call: Call) -> Tops:
    if {*call.numbers("dilation", 2)} != {1}:
        raise ConversionError("dilation is set, but Caffe's pooling doesn't support it")
    return windows.max_pool(net, call.blob(), _windows(call))


def _max_pool_with_indices(net: NetWriter, call: Call) -> Tops:
    """Return the pooled values. The indices, which are the second result, can't be converted."""
    top = _max_pool(net, call)
    assert isinstance(top, NetBlob)
    return [top]


def _average_pool(net: NetWriter, call: Call) -> Tops:
    x, pooling, fixed = call.blob(), _windows(call), call.get("divisor_override")
    inside = pooling.begin if call.get("count_include_pad") else (0, 0)
    areas = pooling.areas(x, inside, inside)
    return windows.average_pool(net, x, pooling, np.full_like(areas, fixed) if fixed else areas)


def _adaptive_average(net: NetWriter, call: Call) -> Tops:
    x, pooling = call.blob(), _adaptive_windows(call)
    if isinstance(pooling, NetBlob):
        return pooling
    if pooling.kernel == x.shape[2:]:
        return windows.global_pool(net, x, "AVE")
    if pooling.kernel == (1, 1):
        size = call.numbers("output_size", 2)
        return windows.repeat_pixels(
            net, x, [target // current for target, current in zip(size, x.shape[2:], strict=True)]
        )
    return windows.average_pool(net, x, pooling, pooling.areas(x, (0, 0), (0, 0)))


def _adaptive_max(net: NetWriter, call: Call) -> Tops:
    x, pooling = call.blob(), _adaptive_windows(call)
    if isinstance(pooling, NetBlob):
        return [pooling]
    return [windows.global_pool(net, x, "MAX") if pooling.kernel == x.shape[2:] else windows.max_pool(net, x, pooling)]


def _adaptive_windows(call: Call) -> NetBlob | PoolingWindows:
    """Return the windows that produce a result of the requested size, or the blob itself if it has that size."""
    x = call.blob()
    old, size = x.shape[2:], call.numbers("output_size", 2)
    if len(old) != 2 or any(current % target and target % current for current, target in zip(old, size, strict=True)):
        raise ConversionError(
            f"{list(old)} to {list(size)}: Caffe's windows all have one size, so one length must divide the other"
        )
    if old == size:
        return x
    kernel = tuple(max(current // target, 1) for current, target in zip(old, size, strict=True))
    return PoolingWindows(kernel, kernel, (0, 0), (0, 0))


def _pad(net: NetWriter, call: Call) -> Tops:
    x, sizes = call.blob(), call.get("pad")
    if call.get("value"):
        raise ConversionError(f"the padding value is {call.get('value')}, but Caffe pads with zeros")
    pairs = list(zip(sizes[::2], sizes[1::2], strict=True))[::-1]  # torch counts from the last axis
    pairs = [(0, 0)] * (len(x.shape) - 2 - len(pairs)) + pairs
    return windows.pad_image(net, x, [begin for begin, _ in pairs], [end for _, end in pairs])


def _add(net: NetWriter, call: Call) -> Tops:
    return arithmetic.add(net, call.value("self"), _scaled(net, call.value("other"), call.get("alpha", 1)))


def _sub(net: NetWriter, call: Call) -> Tops:
    return arithmetic.subtract(net, call.value("self"), _scaled(net, call.value("other"), call.get("alpha", 1)))


def _rsub(net: NetWriter, call: Call) -> Tops:
    return arithmetic.subtract(net, call.value("other"), _scaled(net, call.value("self"), call.get("alpha", 1)))


def _scaled(net: NetWriter, value: Value, alpha: float) -> Value:
    return arithmetic.affine(net, value, alpha, part="alpha") if isinstance(value, NetBlob) else value * alpha


def _div(net: NetWriter, call: Call) -> Tops:
    if call.get("rounding_mode"):
        raise ConversionError("rounding_mode is set, but Caffe doesn't round")
    return arithmetic.divide(net, call.value("self"), call.value("other"))


def _pow(net: NetWriter, call: Call) -> Tops:
    exponent = call.array("exponent")
    if exponent.size != 1:
        raise ConversionError("the exponents differ, but Caffe's Power accepts a single number")
    return arithmetic.power(net, call.blob(), float(exponent.item()))


def _maximum(net: NetWriter, call: Call) -> Tops:
    return arithmetic.maximum(net, [call.value("self"), call.value("other")])


def _minimum(net: NetWriter, call: Call) -> Tops:
    return arithmetic.minimum(net, [call.value("self"), call.value("other")])


def _reduction(by: AxisReduction) -> Counterpart:
    return lambda net, call: _reduced(net, call, by)


def _reduced(net: NetWriter, call: Call, by: AxisReduction) -> NetBlob:
    x, dims = call.blob(), call.get("dim")
    axes = [dims] if isinstance(dims, int) else list(dims or range(len(x.shape)))
    return arithmetic.reduce_axes(net, x, axes, bool(call.get("keepdim", False)), by)


def _arg_max(net: NetWriter, call: Call) -> Tops:
    x, dim = call.blob(), call.get("dim")
    if dim is None:
        raise ConversionError("the maximum is over the whole batch, but Caffe's ArgMax searches along one axis")
    return arithmetic.arg_max(net, x, dim, keep=call.get("keepdim"))


_SELU = 1.6732632423543772, 1.0507009873554805


def _hardtanh(net: NetWriter, call: Call) -> Tops:
    return arithmetic.clip(net, call.blob(), call.get("min_val"), call.get("max_val"))


def _clamp(net: NetWriter, call: Call) -> Tops:
    limits = [call.get(name) for name in ("min", "max")]
    if not all(limit is None or isinstance(limit, (int, float)) for limit in limits):
        raise ConversionError("a limit is a tensor, but Caffe's Clip needs single numbers")
    lower, upper = limits
    return arithmetic.clip(
        net, call.blob(), -math.inf if lower is None else lower, math.inf if upper is None else upper
    )


def _clamp_min(net: NetWriter, call: Call) -> Tops:
    return arithmetic.clip(net, call.blob(), lower=call.get("min"))


def _clamp_max(net: NetWriter, call: Call) -> Tops:
    return arithmetic.clip(net, call.blob(), upper=call.get("max"))


def _leaky_relu(net: NetWriter, call: Call) -> Tops:
    return arithmetic.leaky_relu(net, call.blob(), call.get("negative_slope"))


def _prelu(net: NetWriter, call: Call) -> Tops:
    return arithmetic.prelu(net, call.blob(), call.array("weight"))


def _elu(net: NetWriter, call: Call) -> Tops:
    if call.get("scale", 1) != 1 or call.get("input_scale", 1) != 1:
        raise ConversionError("scale or input_scale differs from 1, but Caffe's ELU has only alpha")
    return net.layer(dsl.ELU, [call.blob()], alpha=call.get("alpha"))


def _silu(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    return arithmetic.multiply(net, x, net.layer(dsl.Sigmoid, [x], part="gate"))


def _softplus(net: NetWriter, call: Call) -> Tops:
    if call.get("beta") != 1:
        raise ConversionError(f"beta is {call.get('beta')}, but Caffe's BNLL always uses 1")
    return net.layer(dsl.BNLL, [call.blob()])


def _softmax(net: NetWriter, call: Call) -> Tops:
    return arithmetic.softmax(net, call.blob(), call.get("dim"))


def _log_softmax(net: NetWriter, call: Call) -> Tops:
    return arithmetic.softmax(net, call.blob(), call.get("dim"), logarithm=True)


def _batch_norm(net: NetWriter, call: Call) -> Tops:
    if call.get("training") or call.get("running_mean") is None:
        raise ConversionError("the layer uses the statistics of the batch, which Caffe does only in training")
    scale, bias = call.optional("weight"), call.optional("bias")
    mean, variance = call.array("running_mean"), call.array("running_var")
    return arithmetic.batch_norm(net, call.blob("input"), mean, variance, call.get("eps"), scale, bias)


def _dropout(net: NetWriter, call: Call) -> Tops:
    return arithmetic.dropout(net, call.blob("input"), call.get("p"))


def _reshape(size: str) -> Counterpart:
    return lambda net, call: shaping.reshape(net, call.blob(), call.get(size))


def _flatten(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    axes = len(x.shape)
    start, end = call.get("start_dim") % axes, call.get("end_dim") % axes + 1
    return shaping.reshape(net, x, (*x.shape[:start], math.prod(x.shape[start:end]), *x.shape[end:]))


def _unflatten(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    axis = call.get("dim") % len(x.shape)
    return shaping.reshape(net, x, (*x.shape[:axis], *call.get("sizes"), *x.shape[axis + 1 :]))


def _squeeze(net: NetWriter, call: Call) -> Tops:
    x, dim = call.blob(), call.get("dim")
    return shaping.reshape(net, x, shaping.squeezed_shape(x.shape, [dim] if isinstance(dim, int) else dim))


def _unsqueeze(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    return shaping.reshape(net, x, shaping.unsqueezed_shape(x.shape, [call.get("dim")]))


def _permute(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    return shaping.permute(net, x, [axis % len(x.shape) for axis in call.get("dims")])


def _transpose(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    axes = len(x.shape)
    return shaping.permute(net, x, shaping.swapped_axes(axes, call.get("dim0", 0) % axes, call.get("dim1", 1) % axes))


def _cat(net: NetWriter, call: Call) -> Tops:
    return shaping.concat(net, call.blobs("tensors"), call.get("dim"))


def _stack(net: NetWriter, call: Call) -> Tops:
    parts = call.blobs("tensors")
    wide = shaping.unsqueezed_shape(parts[0].shape, [call.get("dim")])
    reshaped = [shaping.reshape(net, part, wide, f"axis{rank}") for rank, part in enumerate(parts)]
    return shaping.concat(net, reshaped, call.get("dim") % len(wide))


def _chunk(net: NetWriter, call: Call) -> Tops:
    x, axis = call.blob(), call.get("dim")
    return shaping.split(net, x, axis, _pieces(x.shape[axis], math.ceil(x.shape[axis] / call.get("chunks"))))


def _split(net: NetWriter, call: Call) -> Tops:
    x, axis, sizes = call.blob(), call.get("dim"), call.get("split_size", call.get("split_sizes"))
    return shaping.split(net, x, axis, _pieces(x.shape[axis], sizes) if isinstance(sizes, int) else sizes)


def _pieces(length: int, most: int) -> list[int]:
    return [min(most, length - start) for start in range(0, length, most)]


def _slice(net: NetWriter, call: Call) -> Tops:
    x, axis = call.blob(), call.get("dim")
    start, end = call.get("start") or 0, call.get("end")
    if call.get("step") != 1:
        raise ConversionError("step differs from 1, but Caffe's Slice supports no other")
    return shaping.narrow(net, x, axis, start, x.shape[axis] if end is None else end)


def _select(net: NetWriter, call: Call) -> Tops:
    return shaping.select(net, call.blob(), call.get("dim"), call.get("index"))


def _expand(net: NetWriter, call: Call) -> Tops:
    return shaping.expand(net, call.blob(), call.get("size"))


def _repeat(net: NetWriter, call: Call) -> Tops:
    return shaping.tile(net, call.blob(), call.get("repeats"))


def _same(net: NetWriter, call: Call) -> Tops:
    return call.blob()


def _pixel_shuffle(net: NetWriter, call: Call) -> Tops:
    return shaping.depth_to_space(net, call.blob(), call.get("upscale_factor"), depth_first=False)


def _pixel_unshuffle(net: NetWriter, call: Call) -> Tops:
    return shaping.space_to_depth(net, call.blob(), call.get("downscale_factor"), depth_first=False)


def _size(call: Call) -> tuple[int, ...]:
    x, output_size = _input(call), call.get("output_size")
    if output_size is not None:
        return tuple(output_size)
    scales = call.get("scale_factors") or (call.get("scales_h"), call.get("scales_w"))
    sizes = [size * scale for size, scale in zip(x.shape[2:], scales, strict=True)]
    if any(size != int(size) for size in sizes):
        raise ConversionError(f"scaling {list(x.shape[2:])} by {list(scales)} doesn't yield whole numbers")
    return tuple(map(int, sizes))


def _input(call: Call) -> NetBlob:
    return call.blob("input" if "input" in call.arguments else "self")


def _nearest(net: NetWriter, call: Call) -> Tops:
    return _resize_nearest(net, call, PixelAlignment.CORNERS, 0)


def _nearest_exact(net: NetWriter, call: Call) -> Tops:
    return _resize_nearest(net, call, PixelAlignment.MIDDLES, 0.5)


def _resize_nearest(net: NetWriter, call: Call, alignment: PixelAlignment, shift: float) -> Tops:
    x = _input(call)
    pairs = zip(x.shape[2:], _size(call), strict=True)
    return windows.nearest(
        net, x, [np.floor(windows.source_positions(old, new, alignment) + shift) for old, new in pairs]
    )


def _bilinear(net: NetWriter, call: Call) -> Tops:
    alignment = PixelAlignment.ENDS if call.get("align_corners") else PixelAlignment.MIDDLES
    return windows.bilinear(net, _input(call), _size(call), alignment)


COUNTERPARTS: Counterparts = {
    **dict.fromkeys(("alias", "clone", "contiguous", "detach", "lift_fresh_copy", "to", "type_as"), _same),
    "_upsample_nearest_exact2d": _nearest_exact,
    "abs": _layer_without_settings(dsl.AbsVal),
    "adaptive_avg_pool2d": _adaptive_average,
    "adaptive_max_pool2d": _adaptive_max,
    "add": _add,
    "addmm": _addmm,
    "amax": _reduction(AxisReduction.MAX),
    "argmax": _arg_max,
    "avg_pool2d": _average_pool,
    "batch_norm": _batch_norm,
    "cat": _cat,
    "chunk": _chunk,
    "clamp": _clamp,
    "clamp_max": _clamp_max,
    "clamp_min": _clamp_min,
    "constant_pad_nd": _pad,
    "conv1d": _conv,
    "conv2d": _conv,
    "conv3d": _conv,
    "conv_transpose1d": _conv_transpose,
    "conv_transpose2d": _conv_transpose,
    "div": _div,
    "dropout": _dropout,
    "elu": _elu,
    "exp": _layer_without_settings(dsl.Exp),
    "expand": _expand,
    "feature_dropout": _dropout,
    "flatten": _flatten,
    "hardsigmoid": _of_blob(arithmetic.hard_sigmoid, 1 / 6, 0.5),
    "hardswish": _of_blob(arithmetic.hard_swish),
    "hardtanh": _hardtanh,
    "leaky_relu": _leaky_relu,
    "linear": _linear,
    "log": _layer_without_settings(dsl.Log),
    "log_softmax": _log_softmax,
    "matmul": _matmul("other"),
    "max_pool2d": _max_pool,
    "max_pool2d_with_indices": _max_pool_with_indices,
    "maximum": _maximum,
    "mean": _reduction(AxisReduction.MEAN),
    "minimum": _minimum,
    "mish": _of_blob(arithmetic.mish),
    "mm": _matmul("mat2"),
    "mul": _pair(arithmetic.multiply),
    "neg": _of_blob(arithmetic.affine, -1),
    "pad": _pad,
    "permute": _permute,
    "pixel_shuffle": _pixel_shuffle,
    "pixel_unshuffle": _pixel_unshuffle,
    "pow": _pow,
    "prelu": _prelu,
    "reciprocal": _of_blob(arithmetic.power, -1),
    "relu": _layer_without_settings(dsl.ReLU),
    "relu6": _of_blob(arithmetic.clip, 0, 6),
    "repeat": _repeat,
    "reshape": _reshape("shape"),
    "rsqrt": _of_blob(arithmetic.power, -0.5),
    "rsub": _rsub,
    "select": _select,
    "selu": _of_blob(arithmetic.selu, *_SELU),
    "sigmoid": _layer_without_settings(dsl.Sigmoid),
    "silu": _silu,
    "slice": _slice,
    "softmax": _softmax,
    "softplus": _softplus,
    "split": _split,
    "split_with_sizes": _split,
    "sqrt": _of_blob(arithmetic.power, 0.5),
    "square": _of_blob(arithmetic.power, 2),
    "squeeze": _squeeze,
    "stack": _stack,
    "sub": _sub,
    "sum": _reduction(AxisReduction.SUM),
    "t": _transpose,
    "tanh": _layer_without_settings(dsl.TanH),
    "transpose": _transpose,
    "unflatten": _unflatten,
    "unsqueeze": _unsqueeze,
    "upsample_bilinear2d": _bilinear,
    "upsample_nearest2d": _nearest,
    "view": _reshape("size"),
}
