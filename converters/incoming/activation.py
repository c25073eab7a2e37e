"""Activations and normalisations as Caffe layers, some as several layers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from converters.incoming.net import NetBlob, NetWriter, axis_setting
from converters.incoming.shaping import reshape
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray

_LARGEST = float(np.finfo(np.float32).max)


def clip(net: NetWriter, x: NetBlob, lower: float = -math.inf, upper: float = math.inf, part: str = "") -> NetBlob:
    """Clip values to two limits."""
    if lower == 0 and upper >= _LARGEST:
        return net.layer(dsl.ReLU, [x], part=part)
    return net.layer(dsl.Clip, [x], part=part, min=max(lower, -_LARGEST), max=min(upper, _LARGEST))


def hard_sigmoid(net: NetWriter, x: NetBlob, alpha: float, beta: float, part: str = "") -> NetBlob:
    """`alpha * x + beta`, between 0 and 1."""
    line = net.layer(dsl.Power, [x], part=f"{part}/line" if part else "line", scale=alpha, shift=beta)
    return clip(net, line, 0, 1, part)


def hard_swish(net: NetWriter, x: NetBlob) -> NetBlob:
    """`x * hard_sigmoid(x)`, in layer types that every Caffe has."""
    return net.layer(dsl.Eltwise, [x, hard_sigmoid(net, x, 1 / 6, 0.5, "gate")], operation="PROD")


def selu(net: NetWriter, x: NetBlob, alpha: float, gamma: float) -> NetBlob:
    """`gamma * elu(x)`."""
    return net.layer(dsl.Power, [net.layer(dsl.ELU, [x], alpha=alpha)], part="scale", scale=gamma)


def mish(net: NetWriter, x: NetBlob) -> NetBlob:
    """`x * tanh(log(1 + exp(x)))`."""
    gate = net.layer(dsl.TanH, [net.layer(dsl.BNLL, [x], part="log")], part="gate")
    return net.layer(dsl.Eltwise, [x, gate], operation="PROD")


def leaky_relu(net: NetWriter, x: NetBlob, slope: float) -> NetBlob:
    """ReLU that scales negative values by a slope."""
    return net.layer(dsl.ReLU, [x], negative_slope=slope)


def prelu(net: NetWriter, x: NetBlob, slope: AnyArray) -> NetBlob:
    """ReLU that scales negative values by a learned slope for each channel, or one for all."""
    if slope.size == 1:
        return net.layer(dsl.PReLU, [x], slope.reshape(()), channel_shared=True)
    if slope.size != x.shape[1]:
        raise ConversionError(f"has {slope.size} slopes; Caffe's PReLU takes one, or one for each of {x.shape[1]}")
    return net.layer(dsl.PReLU, [x], slope.reshape(-1))


def dropout(net: NetWriter, x: NetBlob, ratio: float) -> NetBlob:
    """Dropout, which changes nothing outside of training."""
    return net.layer(dsl.Dropout, [x], dropout_ratio=ratio) if 0 < ratio < 1 else x


def softmax(net: NetWriter, x: NetBlob, axis: int, *, logarithm: bool = False) -> NetBlob:
    """Softmax along an axis, or its logarithm."""
    where = axis_setting(axis % len(x.shape))
    top = net.layer(dsl.Softmax, [x], part="softmax" if logarithm else "", **where)
    return net.layer(dsl.Log, [top]) if logarithm else top


def flat_softmax(net: NetWriter, x: NetBlob, axis: int, *, logarithm: bool = False) -> NetBlob:
    """Softmax over an axis and all axes after it, or its logarithm."""
    axis %= len(x.shape)
    if math.prod(x.shape[axis + 1 :]) == 1:
        return softmax(net, x, axis, logarithm=logarithm)
    flat = reshape(net, x, (*x.shape[:axis], math.prod(x.shape[axis:])), "flat")
    return reshape(net, softmax(net, flat, axis, logarithm=logarithm), x.shape, "shape")


@dataclass(frozen=True)
class BatchStatistics:
    """The statistics, scale and bias of a trained batch normalisation."""

    mean: AnyArray
    variance: AnyArray
    eps: float
    scale: AnyArray | None = None
    bias: AnyArray | None = None


def batch_norm(net: NetWriter, x: NetBlob, s: BatchStatistics) -> NetBlob:
    """Batch normalisation. Caffe's BatchNorm has sums and their weight, here 1; scale and bias are a Scale layer."""
    top = net.layer(dsl.BatchNorm, [x], s.mean, s.variance, np.ones(1), eps=s.eps)
    if s.scale is None and s.bias is None:
        return top
    scale = np.ones_like(s.mean) if s.scale is None else s.scale
    if s.bias is None:
        return net.layer(dsl.Scale, [top], scale, part="scale")
    return net.layer(dsl.Scale, [top], scale, s.bias, part="scale", bias_term=True)


def local_response_norm(net: NetWriter, x: NetBlob, size: int, alpha: float, beta: float, k: float) -> NetBlob:
    """Local response normalisation across channels; `alpha` is a factor of the mean of the squares."""
    return net.layer(dsl.LRN, [x], local_size=size, alpha=alpha, beta=beta, k=k)
