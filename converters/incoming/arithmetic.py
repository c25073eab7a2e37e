"""Arithmetic of blobs with blobs and with constants as Caffe layers, with numpy's broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from converters.incoming.activation import clip
from converters.incoming.net import LayerConstructor, NetBlob, NetWriter, Value, axis_setting
from converters.incoming.shaping import expand, reshape
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.layer import Shape
from netdsl.weights.match import AnyArray


def affine(net: NetWriter, x: NetBlob, scale: float = 1, shift: float = 0, part: str = "") -> NetBlob:
    """`scale * x + shift`."""
    settings = ({"scale": scale} if scale != 1 else {}) | ({"shift": shift} if shift else {})
    return net.layer(dsl.Power, [x], part=part, **settings) if settings else x


def add(net: NetWriter, a: Value, b: Value) -> NetBlob:
    """The sum of two values."""
    a, b = _blob_first(a, b)
    if not isinstance(b, NetBlob):
        return affine(net, a, shift=float(b.item())) if _is_scalar(a, b) else _with_constant(net, dsl.Bias, a, b)
    return net.layer(dsl.Eltwise, [a, b]) if a.shape == b.shape else _broadcast(net, dsl.Bias, "SUM", a, b)


def multiply(net: NetWriter, a: Value, b: Value) -> NetBlob:
    """The product of two values."""
    a, b = _blob_first(a, b)
    if not isinstance(b, NetBlob):
        return affine(net, a, float(b.item())) if _is_scalar(a, b) else _with_constant(net, dsl.Scale, a, b)
    if a.shape == b.shape:
        return net.layer(dsl.Eltwise, [a, b], operation="PROD")
    return _broadcast(net, dsl.Scale, "PROD", a, b)


def subtract(net: NetWriter, a: Value, b: Value) -> NetBlob:
    """The difference of two values."""
    if not isinstance(b, NetBlob):
        return add(net, a, -b)
    if isinstance(a, NetBlob) and a.shape == b.shape:
        return net.layer(dsl.Eltwise, [a, b], coeff=[1, -1])
    return add(net, a, affine(net, b, -1, part="negative"))


def divide(net: NetWriter, a: Value, b: Value) -> NetBlob:
    """The quotient of two values."""
    if not isinstance(b, NetBlob):
        with np.errstate(divide="ignore"):
            return multiply(net, a, 1 / b.astype(np.float64))
    if not isinstance(a, NetBlob) and np.all(a == 1) and _is_scalar(b, a):
        return power(net, b, -1)
    return multiply(net, a, power(net, b, -1, "inverse"))


def power(net: NetWriter, x: NetBlob, exponent: float, part: str = "") -> NetBlob:
    """A blob to the power of a constant."""
    return net.layer(dsl.Power, [x], part=part, power=exponent) if exponent != 1 else x


def total(net: NetWriter, values: Sequence[Value], coeff: float = 1) -> NetBlob:
    """The sum of all values, times a coefficient."""
    blobs = [value for value in values if isinstance(value, NetBlob)]
    if len(blobs) == len(values) > 1 and len({blob.shape for blob in blobs}) == 1:
        settings: dict[str, Any] = {} if coeff == 1 else {"coeff": [coeff] * len(blobs)}
        return net.layer(dsl.Eltwise, blobs, **settings)
    sum_blob = reduce(lambda a, b: add(net, a, b), values)
    assert isinstance(sum_blob, NetBlob)
    return affine(net, sum_blob, coeff, part="scale")


def maximum(net: NetWriter, values: Sequence[Value]) -> NetBlob:
    """The element-wise maximum of all values."""
    limits = [value for value in values if not isinstance(value, NetBlob)]
    blobs = [value for value in values if isinstance(value, NetBlob)]
    if any(limit.size != 1 for limit in limits):
        raise ConversionError("has a constant that isn't a single number; Caffe's Clip takes no other")
    if len(blobs) > 1:
        target = np.broadcast_shapes(*(blob.shape for blob in blobs))
        alike = [expand(net, blob, target, f"wide{rank}") for rank, blob in enumerate(blobs)]
        blobs = [net.layer(dsl.Eltwise, alike, operation="MAX")]
    return clip(net, blobs[0], lower=max(float(limit.item()) for limit in limits)) if limits else blobs[0]


def minimum(net: NetWriter, values: Sequence[Value]) -> NetBlob:
    """The element-wise minimum of all values; that of several blobs is written as a maximum of the negative ones."""
    limits = [value for value in values if not isinstance(value, NetBlob)]
    blobs = [value for value in values if isinstance(value, NetBlob)]
    if len(blobs) == 1 and all(limit.size == 1 for limit in limits):
        return clip(net, blobs[0], upper=min(float(limit.item()) for limit in limits)) if limits else blobs[0]
    negative = [affine(net, v, -1, part="negative") if isinstance(v, NetBlob) else -v for v in values]
    return affine(net, maximum(net, negative), -1, part="positive")


def _blob_first(a: Value, b: Value) -> tuple[NetBlob, Value]:
    if isinstance(a, NetBlob):
        return a, b
    assert isinstance(b, NetBlob), "constants are computed before"
    return b, a


def _is_scalar(x: NetBlob, constant: AnyArray) -> bool:
    return constant.size == 1 and constant.ndim <= len(x.shape)


def _with_constant(net: NetWriter, constructor: LayerConstructor, x: NetBlob, constant: AnyArray) -> NetBlob:
    """Bias or Scale with the constant as its weights, along the axes where the constant varies."""
    target = np.broadcast_shapes(x.shape, constant.shape)
    x = expand(net, x, target, "wide")
    constant = constant.reshape((1,) * (len(target) - constant.ndim) + constant.shape)
    axes = [axis for axis, size in enumerate(constant.shape) if size != 1] or [0]
    first, last = axes[0], axes[-1] + 1
    values = np.broadcast_to(constant.reshape(constant.shape[first:last]), target[first:last])
    settings = axis_setting(first) | ({} if last == first + 1 else {"num_axes": last - first})
    return net.layer(constructor, [x], values, **settings)


def _broadcast(net: NetWriter, constructor: LayerConstructor, operation: str, a: NetBlob, b: NetBlob) -> NetBlob:
    """Bias or Scale with two bottoms if the smaller one spans axes of the larger, else Eltwise of both in full size."""
    target = np.broadcast_shapes(a.shape, b.shape)
    large, small = (a, b) if a.shape == target else (b, a)
    span = _common_span(large.shape, (1,) * (len(target) - len(small.shape)) + small.shape)
    if large.shape == target and span is not None:
        second = reshape(net, small, large.shape[slice(*span)], "shape")
        return net.layer(constructor, [large, second], **axis_setting(span[0]))
    alike = [expand(net, blob, target, f"wide{rank}") for rank, blob in enumerate((a, b))]
    return net.layer(dsl.Eltwise, alike, operation=operation)


def _common_span(large: Shape, small: Shape) -> tuple[int, int] | None:
    """The axes that the smaller shape spans; they begin with the first axis if possible, so that batches stay open."""
    last = max((axis + 1 for axis, size in enumerate(small) if size != 1), default=0)
    first = 0 if small[:last] == large[:last] else next((axis for axis, size in enumerate(small) if size != 1), 0)
    return (first, last) if last and small[first:last] == large[first:last] else None
