"""Writes arithmetic, activations, normalizations and reductions as Caffe layers, with numpy's broadcasting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from functools import reduce
from typing import Any

import numpy as np

from converters.incoming.net_writer import LayerConstructor, NetBlob, NetWriter, Value, axis_setting
from converters.incoming.shaping import expand, permute, reshape
from converters.incoming.windows import global_pool
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.layer import Shape
from netdsl.model.weights.match import AnyArray

_LARGEST = float(np.finfo(np.float32).max)


def clip(net: NetWriter, x: NetBlob, lower: float = -math.inf, upper: float = math.inf, part: str = "") -> NetBlob:
    """Clip values to a lower and an upper limit. Each may be infinite."""
    if lower == 0 and upper >= _LARGEST:
        return net.layer(dsl.ReLU, [x], part=part)
    return net.layer(dsl.Clip, [x], part=part, min=max(lower, -_LARGEST), max=min(upper, _LARGEST))


def hard_sigmoid(net: NetWriter, x: NetBlob, alpha: float, beta: float, part: str = "") -> NetBlob:
    """Compute `alpha * x + beta`, clipped to the range from 0 to 1."""
    line = net.layer(dsl.Power, [x], part=f"{part}/line" if part else "line", scale=alpha, shift=beta)
    return clip(net, line, 0, 1, part)


def hard_swish(net: NetWriter, x: NetBlob) -> NetBlob:
    """Compute `x * hard_sigmoid(x)` with layer types that every Caffe has."""
    return net.layer(dsl.Eltwise, [x, hard_sigmoid(net, x, 1 / 6, 0.5, "gate")], operation="PROD")


def selu(net: NetWriter, x: NetBlob, alpha: float, gamma: float) -> NetBlob:
    """Compute `gamma * elu(x)`."""
    return net.layer(dsl.Power, [net.layer(dsl.ELU, [x], alpha=alpha)], part="scale", scale=gamma)


def mish(net: NetWriter, x: NetBlob) -> NetBlob:
    """Compute `x * tanh(log(1 + exp(x)))`."""
    gate = net.layer(dsl.TanH, [net.layer(dsl.BNLL, [x], part="log")], part="gate")
    return net.layer(dsl.Eltwise, [x, gate], operation="PROD")


def leaky_relu(net: NetWriter, x: NetBlob, slope: float) -> NetBlob:
    """Apply a ReLU that multiplies negative values by a slope."""
    return net.layer(dsl.ReLU, [x], negative_slope=slope)


def prelu(net: NetWriter, x: NetBlob, slope: AnyArray) -> NetBlob:
    """Apply a ReLU that multiplies negative values by a learned slope, either one per channel or one for all."""
    if slope.size == 1:
        return net.layer(dsl.PReLU, [x], slope.reshape(()), channel_shared=True)
    if slope.size != x.shape[1]:
        raise ConversionError(
            f"there are {slope.size} slopes, but Caffe's PReLU accepts one, or one for each of the {x.shape[1]} "
            "channels"
        )
    return net.layer(dsl.PReLU, [x], slope.reshape(-1))


def dropout(net: NetWriter, x: NetBlob, ratio: float) -> NetBlob:
    """Add a Dropout layer, which changes nothing outside of training."""
    return net.layer(dsl.Dropout, [x], dropout_ratio=ratio) if 0 < ratio < 1 else x


def softmax(net: NetWriter, x: NetBlob, axis: int, *, logarithm: bool = False) -> NetBlob:
    """Compute the softmax along an axis, or its logarithm."""
    where = axis_setting(axis % len(x.shape))
    top = net.layer(dsl.Softmax, [x], part="softmax" if logarithm else "", **where)
    return net.layer(dsl.Log, [top]) if logarithm else top


def flat_softmax(net: NetWriter, x: NetBlob, axis: int, *, logarithm: bool = False) -> NetBlob:
    """Compute the softmax over an axis and all axes after it, or its logarithm."""
    axis %= len(x.shape)
    if math.prod(x.shape[axis + 1 :]) == 1:
        return softmax(net, x, axis, logarithm=logarithm)
    flat = reshape(net, x, (*x.shape[:axis], math.prod(x.shape[axis:])), "flat")
    return reshape(net, softmax(net, flat, axis, logarithm=logarithm), x.shape, "shape")


def batch_norm(
    net: NetWriter,
    x: NetBlob,
    mean: AnyArray,
    variance: AnyArray,
    eps: float,
    scale: AnyArray | None = None,
    bias: AnyArray | None = None,
) -> NetBlob:
    """Normalize a batch.

    Caffe's BatchNorm stores sums and their weight, which is 1 here. Scale and bias become a Scale layer.
    """
    top = net.layer(dsl.BatchNorm, [x], mean, variance, np.ones(1), eps=eps)
    if scale is None and bias is None:
        return top
    scale = np.ones_like(mean) if scale is None else scale
    if bias is None:
        return net.layer(dsl.Scale, [top], scale, part="scale")
    return net.layer(dsl.Scale, [top], scale, bias, part="scale", bias_term=True)


def local_response_norm(net: NetWriter, x: NetBlob, size: int, alpha: float, beta: float, k: float) -> NetBlob:
    """Normalize the local response across channels. `alpha` multiplies the mean of the squares."""
    return net.layer(dsl.LRN, [x], local_size=size, alpha=alpha, beta=beta, k=k)


def affine(net: NetWriter, x: NetBlob, scale: float = 1, shift: float = 0, part: str = "") -> NetBlob:
    """Compute `scale * x + shift`."""
    settings = ({"scale": scale} if scale != 1 else {}) | ({"shift": shift} if shift else {})
    return net.layer(dsl.Power, [x], part=part, **settings) if settings else x


def add(net: NetWriter, a: Value, b: Value) -> NetBlob:
    """Return the sum of two values."""
    a, b = _blob_first(a, b)
    if not isinstance(b, NetBlob):
        return affine(net, a, shift=float(b.item())) if _is_scalar(a, b) else _with_constant(net, dsl.Bias, a, b)
    return net.layer(dsl.Eltwise, [a, b]) if a.shape == b.shape else _broadcast(net, dsl.Bias, "SUM", a, b)


def multiply(net: NetWriter, a: Value, b: Value) -> NetBlob:
    """Return the product of two values."""
    a, b = _blob_first(a, b)
    if not isinstance(b, NetBlob):
        return affine(net, a, float(b.item())) if _is_scalar(a, b) else _with_constant(net, dsl.Scale, a, b)
    if a.shape == b.shape:
        return net.layer(dsl.Eltwise, [a, b], operation="PROD")
    return _broadcast(net, dsl.Scale, "PROD", a, b)


def subtract(net: NetWriter, a: Value, b: Value) -> NetBlob:
    """Return the difference of two values."""
    if not isinstance(b, NetBlob):
        return add(net, a, -b)
    if isinstance(a, NetBlob) and a.shape == b.shape:
        return net.layer(dsl.Eltwise, [a, b], coeff=[1, -1])
    return add(net, a, affine(net, b, -1, part="negative"))


def divide(net: NetWriter, a: Value, b: Value) -> NetBlob:
    """Return the quotient of two values."""
    if not isinstance(b, NetBlob):
        with np.errstate(divide="ignore"):
            return multiply(net, a, 1 / b.astype(np.float64))
    if not isinstance(a, NetBlob) and np.all(a == 1) and _is_scalar(b, a):
        return power(net, b, -1)
    return multiply(net, a, power(net, b, -1, "inverse"))


def power(net: NetWriter, x: NetBlob, exponent: float, part: str = "") -> NetBlob:
    """Return a blob raised to a constant power."""
    return net.layer(dsl.Power, [x], part=part, power=exponent) if exponent != 1 else x


def total(net: NetWriter, values: Sequence[Value], coeff: float = 1) -> NetBlob:
    """Return the sum of all values, multiplied by a coefficient."""
    blobs = [value for value in values if isinstance(value, NetBlob)]
    if len(blobs) == len(values) > 1 and len({blob.shape for blob in blobs}) == 1:
        settings: dict[str, Any] = {} if coeff == 1 else {"coeff": [coeff] * len(blobs)}
        return net.layer(dsl.Eltwise, blobs, **settings)
    sum_blob = reduce(lambda a, b: add(net, a, b), values)
    assert isinstance(sum_blob, NetBlob)
    return affine(net, sum_blob, coeff, part="scale")


def maximum(net: NetWriter, values: Sequence[Value]) -> NetBlob:
    """Return the element-wise maximum of all values."""
    limits = [value for value in values if not isinstance(value, NetBlob)]
    blobs = [value for value in values if isinstance(value, NetBlob)]
    if any(limit.size != 1 for limit in limits):
        raise ConversionError("a constant isn't a single number, which Caffe's Clip needs")
    if len(blobs) > 1:
        target = np.broadcast_shapes(*(blob.shape for blob in blobs))
        alike = [expand(net, blob, target, f"wide{rank}") for rank, blob in enumerate(blobs)]
        blobs = [net.layer(dsl.Eltwise, alike, operation="MAX")]
    return clip(net, blobs[0], lower=max(float(limit.item()) for limit in limits)) if limits else blobs[0]


def minimum(net: NetWriter, values: Sequence[Value]) -> NetBlob:
    """Return the element-wise minimum of all values.

    The minimum of several blobs is computed as the negated maximum of their negatives.
    """
    limits = [value for value in values if not isinstance(value, NetBlob)]
    blobs = [value for value in values if isinstance(value, NetBlob)]
    if len(blobs) == 1 and all(limit.size == 1 for limit in limits):
        return clip(net, blobs[0], upper=min(float(limit.item()) for limit in limits)) if limits else blobs[0]
    negative = [affine(net, v, -1, part="negative") if isinstance(v, NetBlob) else -v for v in values]
    return affine(net, maximum(net, negative), -1, part="positive")


def _blob_first(a: Value, b: Value) -> tuple[NetBlob, Value]:
    if isinstance(a, NetBlob):
        return a, b
    assert isinstance(b, NetBlob), "constants are computed earlier"
    return b, a


def _is_scalar(x: NetBlob, constant: AnyArray) -> bool:
    return constant.size == 1 and constant.ndim <= len(x.shape)


def _with_constant(net: NetWriter, constructor: LayerConstructor, x: NetBlob, constant: AnyArray) -> NetBlob:
    """Add a Bias or Scale layer whose weights are the constant. It acts along the axes on which the constant varies."""
    target = np.broadcast_shapes(x.shape, constant.shape)
    x = expand(net, x, target, "wide")
    constant = constant.reshape((1,) * (len(target) - constant.ndim) + constant.shape)
    axes = [axis for axis, size in enumerate(constant.shape) if size != 1] or [0]
    first, last = axes[0], axes[-1] + 1
    values = np.broadcast_to(constant.reshape(constant.shape[first:last]), target[first:last])
    settings = axis_setting(first) | ({} if last == first + 1 else {"num_axes": last - first})
    return net.layer(constructor, [x], values, **settings)


def _broadcast(net: NetWriter, constructor: LayerConstructor, operation: str, a: NetBlob, b: NetBlob) -> NetBlob:
    """Combine two blobs by broadcasting.

    A Bias or Scale layer with two bottoms is used if the smaller blob spans axes of the larger one. Otherwise both are
    expanded to full size for an Eltwise layer.
    """
    target = np.broadcast_shapes(a.shape, b.shape)
    large, small = (a, b) if a.shape == target else (b, a)
    span = _common_span(large.shape, (1,) * (len(target) - len(small.shape)) + small.shape)
    if large.shape == target and span is not None:
        second = reshape(net, small, large.shape[slice(*span)], "shape")
        return net.layer(constructor, [large, second], **axis_setting(span[0]))
    alike = [expand(net, blob, target, f"wide{rank}") for rank, blob in enumerate((a, b))]
    return net.layer(dsl.Eltwise, alike, operation=operation)


def _common_span(large: Shape, small: Shape) -> tuple[int, int] | None:
    """Return the first axis that the smaller shape spans and the axis after the last, or `None`.

    The span begins with the first axis if possible, so that the batch size stays open.
    """
    last = max((axis + 1 for axis, size in enumerate(small) if size != 1), default=0)
    first = 0 if small[:last] == large[:last] else next((axis for axis, size in enumerate(small) if size != 1), 0)
    return (first, last) if last and small[first:last] == large[first:last] else None


class AxisReduction(Enum):
    """The kind of a reduction. The values are Caffe's names."""

    SUM = "SUM"
    MEAN = "MEAN"
    ABSOLUTE = "ASUM"
    SQUARES = "SUMSQ"
    MAX = "MAX"


def reduce_axes(
    net: NetWriter, x: NetBlob, axes: Sequence[int], keep: bool, by: AxisReduction, part: str = ""
) -> NetBlob:
    """Reduce axes. With `keep`, they remain with length 1."""
    removed_axes = {axis % len(x.shape) for axis in axes}
    kept_axes = [axis for axis in range(len(x.shape)) if axis not in removed_axes]
    target = [x.shape[axis] for axis in kept_axes]
    if keep:
        target = [1 if axis in removed_axes else size for axis, size in enumerate(x.shape)]
    if by is AxisReduction.MAX or (by is AxisReduction.MEAN and removed_axes == {2, 3} and len(x.shape) == 4):
        return reshape(net, _pooled(net, x, removed_axes, by), target, "shape")
    moved = permute(net, x, [*kept_axes, *sorted(removed_axes)], "last")
    top = net.layer(dsl.Reduction, [moved], part=part, operation=by.value, axis=len(kept_axes))
    return reshape(net, top, target, "shape")


def _pooled(net: NetWriter, x: NetBlob, removed_axes: set[int], by: AxisReduction) -> NetBlob:
    if removed_axes != {2, 3} or len(x.shape) != 4:
        raise ConversionError(
            f"axes {sorted(removed_axes)} of {len(x.shape)} are reduced, but Caffe pools only over height and width"
        )
    return global_pool(net, x, "MAX" if by is AxisReduction.MAX else "AVE")


def arg_max(net: NetWriter, x: NetBlob, axis: int, *, keep: bool) -> NetBlob:
    """Return the index of the largest value along an axis, as a real number.

    If several values are equal, Caffe's rule is to return the last of them.
    """
    axis %= len(x.shape)
    top = net.layer(dsl.ArgMax, [x], axis=axis)
    return top if keep else reshape(net, top, (*x.shape[:axis], *x.shape[axis + 1 :]), "shape")
