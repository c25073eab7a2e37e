"""The import of ONNX's arithmetic and reductions."""

from __future__ import annotations

from collections.abc import Callable

from converters.from_onnx.node import OnnxNode, Operator, Operators
from converters.incoming import arithmetic
from converters.incoming.net import NetBlob, NetWriter, Tops, Value
from converters.incoming.reduction import AxisReduction, reduce_axes
from netdsl import dsl
from netdsl.errors import ConversionError


def _pair(function: Callable[[NetWriter, Value, Value], NetBlob]) -> Operator:
    return lambda net, node: function(net, node.value(0), node.value(1))


def _pow(net: NetWriter, node: OnnxNode) -> Tops:
    if not isinstance(node.value(0), NetBlob):
        base, exponent = node.array(0), node.blob(1)
        return net.layer(dsl.Exp, [exponent], base=_single(base.size, base.reshape(-1)[:1].tolist()))
    exponents = node.array(1)
    return arithmetic.power(net, node.blob(), _single(exponents.size, exponents.reshape(-1)[:1].tolist()))


def _single(count: int, values: list[float]) -> float:
    if count != 1:
        raise ConversionError("Caffe's powers take one number for all values")
    return float(values[0])


def _sqrt(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.power(net, node.blob(), 0.5)


def _reciprocal(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.power(net, node.blob(), -1)


def _neg(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.affine(net, node.blob(), -1)


def _sum(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.total(net, node.blobs())


def _mean(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.total(net, node.blobs(), 1 / len(node.inputs))


def _max(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.maximum(net, node.values())


def _min(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.minimum(net, node.values())


def _reduction(by: AxisReduction) -> Operator:
    return lambda net, node: _reduced(net, node, by)


def _reduced(net: NetWriter, node: OnnxNode, by: AxisReduction, part: str = "") -> NetBlob:
    x, axes = node.blob(), node.ints("axes", 1)
    if not axes and node.get("noop_with_empty_axes", 0):
        return x
    return reduce_axes(net, x, axes or range(len(x.shape)), bool(node.get("keepdims", 1)), by, part)


def _reduce_l2(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.power(net, _reduced(net, node, AxisReduction.SQUARES, "squares"), 0.5)


OPERATORS: Operators = {
    "Add": _pair(arithmetic.add),
    "Div": _pair(arithmetic.divide),
    "Max": _max,
    "Mean": _mean,
    "Min": _min,
    "Mul": _pair(arithmetic.multiply),
    "Neg": _neg,
    "Pow": _pow,
    "Reciprocal": _reciprocal,
    "ReduceL1": _reduction(AxisReduction.ABSOLUTE),
    "ReduceL2": _reduce_l2,
    "ReduceMax": _reduction(AxisReduction.MAX),
    "ReduceMean": _reduction(AxisReduction.MEAN),
    "ReduceSum": _reduction(AxisReduction.SUM),
    "ReduceSumSquare": _reduction(AxisReduction.SQUARES),
    "Sqrt": _sqrt,
    "Sub": _pair(arithmetic.subtract),
    "Sum": _sum,
}
