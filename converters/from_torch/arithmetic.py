"""The import of torch's arithmetic and reductions."""

from __future__ import annotations

from collections.abc import Callable

from converters.from_torch.call import Call, Counterpart, Counterparts
from converters.incoming import arithmetic
from converters.incoming.net import NetBlob, NetWriter, Tops, Value
from converters.incoming.reduction import AxisReduction, arg_max, reduce_axes
from netdsl.errors import ConversionError


def _pair(function: Callable[[NetWriter, Value, Value], NetBlob]) -> Counterpart:
    return lambda net, call: function(net, call.value("self"), call.value("other"))


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
        raise ConversionError("rounding_mode: Caffe doesn't round")
    return arithmetic.divide(net, call.value("self"), call.value("other"))


def _pow(net: NetWriter, call: Call) -> Tops:
    exponent = call.array("exponent")
    if exponent.size != 1:
        raise ConversionError("Caffe's Power takes one number for all values")
    return arithmetic.power(net, call.blob(), float(exponent.item()))


def _power(exponent: float) -> Counterpart:
    return lambda net, call: arithmetic.power(net, call.blob(), exponent)


def _neg(net: NetWriter, call: Call) -> Tops:
    return arithmetic.affine(net, call.blob(), -1)


def _maximum(net: NetWriter, call: Call) -> Tops:
    return arithmetic.maximum(net, [call.value("self"), call.value("other")])


def _minimum(net: NetWriter, call: Call) -> Tops:
    return arithmetic.minimum(net, [call.value("self"), call.value("other")])


def _reduction(by: AxisReduction) -> Counterpart:
    return lambda net, call: _reduced(net, call, by)


def _reduced(net: NetWriter, call: Call, by: AxisReduction) -> NetBlob:
    x, dims = call.blob(), call.get("dim")
    axes = [dims] if isinstance(dims, int) else list(dims or range(len(x.shape)))
    return reduce_axes(net, x, axes, bool(call.get("keepdim", False)), by)


def _arg_max(net: NetWriter, call: Call) -> Tops:
    x, dim = call.blob(), call.get("dim")
    if dim is None:
        raise ConversionError("of the whole batch: Caffe looks along one axis")
    return arg_max(net, x, dim, keep=call.get("keepdim"))


COUNTERPARTS: Counterparts = {
    "add": _add,
    "amax": _reduction(AxisReduction.MAX),
    "argmax": _arg_max,
    "div": _div,
    "maximum": _maximum,
    "mean": _reduction(AxisReduction.MEAN),
    "minimum": _minimum,
    "mul": _pair(arithmetic.multiply),
    "neg": _neg,
    "pow": _pow,
    "reciprocal": _power(-1),
    "rsqrt": _power(-0.5),
    "rsub": _rsub,
    "sqrt": _power(0.5),
    "square": _power(2),
    "sub": _sub,
    "sum": _reduction(AxisReduction.SUM),
}
