"""The import of torch's activations and normalisations."""

from __future__ import annotations

import math

from converters.from_torch.call import Call, Counterpart, Counterparts
from converters.incoming import activation
from converters.incoming.arithmetic import multiply
from converters.incoming.net import LayerConstructor, NetWriter, Tops
from netdsl import dsl
from netdsl.errors import ConversionError

_SELU = 1.6732632423543772, 1.0507009873554805


def _layer_without_settings(constructor: LayerConstructor) -> Counterpart:
    """The conversion of an operator to one layer without settings."""
    return lambda net, call: net.layer(constructor, [call.blob()])


def _relu6(net: NetWriter, call: Call) -> Tops:
    return activation.clip(net, call.blob(), 0, 6)


def _hardtanh(net: NetWriter, call: Call) -> Tops:
    return activation.clip(net, call.blob(), call.get("min_val"), call.get("max_val"))


def _clamp(net: NetWriter, call: Call) -> Tops:
    limits = [call.get(name) for name in ("min", "max")]
    if not all(limit is None or isinstance(limit, (int, float)) for limit in limits):
        raise ConversionError("Caffe's Clip takes single numbers")
    lower, upper = limits
    return activation.clip(
        net, call.blob(), -math.inf if lower is None else lower, math.inf if upper is None else upper
    )


def _clamp_min(net: NetWriter, call: Call) -> Tops:
    return activation.clip(net, call.blob(), lower=call.get("min"))


def _clamp_max(net: NetWriter, call: Call) -> Tops:
    return activation.clip(net, call.blob(), upper=call.get("max"))


def _leaky_relu(net: NetWriter, call: Call) -> Tops:
    return activation.leaky_relu(net, call.blob(), call.get("negative_slope"))


def _prelu(net: NetWriter, call: Call) -> Tops:
    return activation.prelu(net, call.blob(), call.array("weight"))


def _elu(net: NetWriter, call: Call) -> Tops:
    if call.get("scale", 1) != 1 or call.get("input_scale", 1) != 1:
        raise ConversionError("scale: Caffe's ELU has alpha alone")
    return net.layer(dsl.ELU, [call.blob()], alpha=call.get("alpha"))


def _selu(net: NetWriter, call: Call) -> Tops:
    return activation.selu(net, call.blob(), *_SELU)


def _hard_sigmoid(net: NetWriter, call: Call) -> Tops:
    return activation.hard_sigmoid(net, call.blob(), 1 / 6, 0.5)


def _hard_swish(net: NetWriter, call: Call) -> Tops:
    return activation.hard_swish(net, call.blob())


def _silu(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    return multiply(net, x, net.layer(dsl.Sigmoid, [x], part="gate"))


def _mish(net: NetWriter, call: Call) -> Tops:
    return activation.mish(net, call.blob())


def _softplus(net: NetWriter, call: Call) -> Tops:
    if call.get("beta") != 1:
        raise ConversionError(f"beta {call.get('beta')}: Caffe's BNLL has none but 1")
    return net.layer(dsl.BNLL, [call.blob()])


def _softmax(net: NetWriter, call: Call) -> Tops:
    return activation.softmax(net, call.blob(), call.get("dim"))


def _log_softmax(net: NetWriter, call: Call) -> Tops:
    return activation.softmax(net, call.blob(), call.get("dim"), logarithm=True)


def _batch_norm(net: NetWriter, call: Call) -> Tops:
    if call.get("training") or call.get("running_mean") is None:
        raise ConversionError("takes the statistics of the batch, as Caffe does only in training")
    statistics = activation.BatchStatistics(
        call.array("running_mean"),
        call.array("running_var"),
        call.get("eps"),
        call.optional("weight"),
        call.optional("bias"),
    )
    return activation.batch_norm(net, call.blob("input"), statistics)


def _dropout(net: NetWriter, call: Call) -> Tops:
    return activation.dropout(net, call.blob("input"), call.get("p"))


COUNTERPARTS: Counterparts = {
    "abs": _layer_without_settings(dsl.AbsVal),
    "batch_norm": _batch_norm,
    "clamp": _clamp,
    "clamp_max": _clamp_max,
    "clamp_min": _clamp_min,
    "dropout": _dropout,
    "elu": _elu,
    "exp": _layer_without_settings(dsl.Exp),
    "feature_dropout": _dropout,
    "hardsigmoid": _hard_sigmoid,
    "hardswish": _hard_swish,
    "hardtanh": _hardtanh,
    "leaky_relu": _leaky_relu,
    "log": _layer_without_settings(dsl.Log),
    "log_softmax": _log_softmax,
    "mish": _mish,
    "prelu": _prelu,
    "relu": _layer_without_settings(dsl.ReLU),
    "relu6": _relu6,
    "selu": _selu,
    "sigmoid": _layer_without_settings(dsl.Sigmoid),
    "silu": _silu,
    "softmax": _softmax,
    "softplus": _softplus,
    "tanh": _layer_without_settings(dsl.TanH),
}
