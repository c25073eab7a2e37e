"""The import of ONNX's activations and normalisations."""

from __future__ import annotations

import math

import numpy as np

from converters.from_onnx.node import OnnxNode, Operator, Operators
from converters.incoming import activation
from converters.incoming.net import LayerConstructor, NetWriter, Tops
from netdsl import dsl
from netdsl.errors import ConversionError


def _layer_without_settings(constructor: LayerConstructor) -> Operator:
    """The conversion of an operator to one layer without settings."""
    return lambda net, node: net.layer(constructor, [node.blob()])


def _clip(net: NetWriter, node: OnnxNode) -> Tops:
    lower, upper = node.number("min", 1, -math.inf), node.number("max", 2, math.inf)
    return activation.clip(net, node.blob(), lower, upper)


def _leaky_relu(net: NetWriter, node: OnnxNode) -> Tops:
    return activation.leaky_relu(net, node.blob(), node.get("alpha", 0.01))


def _prelu(net: NetWriter, node: OnnxNode) -> Tops:
    x, slope = node.blob(), node.array(1)
    lengths = (1,) * (len(x.shape) - slope.ndim) + slope.shape
    if slope.size > 1 and lengths[1] != slope.size:
        raise ConversionError(f"its slopes of shape {list(slope.shape)} differ within a channel")
    return activation.prelu(net, x, slope)


def _elu(net: NetWriter, node: OnnxNode) -> Tops:
    return net.layer(dsl.ELU, [node.blob()], alpha=node.get("alpha", 1.0))


def _selu(net: NetWriter, node: OnnxNode) -> Tops:
    return activation.selu(net, node.blob(), node.get("alpha", 1.67326319), node.get("gamma", 1.05070102))


def _hard_sigmoid(net: NetWriter, node: OnnxNode) -> Tops:
    return activation.hard_sigmoid(net, node.blob(), node.get("alpha", 0.2), node.get("beta", 0.5))


def _hard_swish(net: NetWriter, node: OnnxNode) -> Tops:
    return activation.hard_swish(net, node.blob())


def _mish(net: NetWriter, node: OnnxNode) -> Tops:
    return activation.mish(net, node.blob())


def _softmax(net: NetWriter, node: OnnxNode) -> Tops:
    return _any_softmax(net, node, logarithm=False)


def _log_softmax(net: NetWriter, node: OnnxNode) -> Tops:
    return _any_softmax(net, node, logarithm=True)


def _any_softmax(net: NetWriter, node: OnnxNode, *, logarithm: bool) -> Tops:
    if node.opset < 13:  # ONNX's rule until then: everything from the axis on is one row
        return activation.flat_softmax(net, node.blob(), node.get("axis", 1), logarithm=logarithm)
    return activation.softmax(net, node.blob(), node.get("axis", -1), logarithm=logarithm)


def _batch_norm(net: NetWriter, node: OnnxNode) -> Tops:
    if node.get("training_mode", 0):
        raise ConversionError("training_mode: export the model for inference")
    scale, bias, mean, variance = (node.array(place) for place in range(1, 5))
    statistics = activation.BatchStatistics(mean, variance, node.get("epsilon", 1e-5), scale, bias)
    return activation.batch_norm(net, node.blob(), statistics)


def _dropout(net: NetWriter, node: OnnxNode) -> Tops:
    if node.has_input(2) and np.any(node.array(2)):
        raise ConversionError("training_mode: export the model for inference")
    return activation.dropout(net, node.blob(), node.number("ratio", 1, 0.5))


def _lrn(net: NetWriter, node: OnnxNode) -> Tops:
    size, alpha, beta, k = (node.get(name, default) for name, default
                            in (("size", 1), ("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))  # fmt: skip
    return activation.local_response_norm(net, node.blob(), size, alpha, beta, k)


OPERATORS: Operators = {
    "Abs": _layer_without_settings(dsl.AbsVal),
    "BatchNormalization": _batch_norm,
    "Clip": _clip,
    "Dropout": _dropout,
    "Elu": _elu,
    "Exp": _layer_without_settings(dsl.Exp),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "LRN": _lrn,
    "LeakyRelu": _leaky_relu,
    "Log": _layer_without_settings(dsl.Log),
    "LogSoftmax": _log_softmax,
    "Mish": _mish,
    "PRelu": _prelu,
    "Relu": _layer_without_settings(dsl.ReLU),
    "Selu": _selu,
    "Sigmoid": _layer_without_settings(dsl.Sigmoid),
    "Softmax": _softmax,
    "Softplus": _layer_without_settings(dsl.BNLL),
    "Tanh": _layer_without_settings(dsl.TanH),
}
