"""Computes the constants of an ONNX graph node by node. The work of each node is charged before it is done."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from caffe_proto.limits import STORED_TIMES, Ledger, Limit
from converters.onnx.library import onnx, onnx_module
from netdsl.errors import ConversionError, first_line
from netdsl.model.weights.match import AnyArray

_SMALL = 1000  # values; smaller inputs may contain lengths
_MOST_SMALL = 10_000  # values of all small inputs of a node
_SHOWN = 60  # letters of a name in an error
_NODE = 200_000  # operations; the time that a node takes without any values
_RANDOM = ("Random", "Bernoulli", "Multinomial")
# Operators whose results have at most as many rows as their inputs have values. Their shapes are known afterwards.
_SELECTIONS = ("Compress", "NonZero", "Unique")
_PRODUCTS = ("Gemm", "MatMul")
# Operations for each value that an operator reads or writes. Operators of the second kind handle values one by one.
_COSTS = {
    **dict.fromkeys(
        (
            *("Abs", "Acos", "Acosh", "Add", "And", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh"),
            *("BatchNormalization", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast"),
            *("CastLike", "Ceil", "Celu", "Clip", "Concat", "Constant", "ConstantOfShape", "Cos", "Cosh", "CumSum"),
            *("DepthToSpace", "DequantizeLinear", "Div", "Dropout", "Elu", "Equal", "Erf", "Exp", "Expand", "EyeLike"),
            *("Flatten", "Floor", "Gather", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish"),
            *("Hardmax", "Identity", "IsInf", "IsNaN", "LayerNormalization", "LeakyRelu", "Less", "LessOrEqual"),
            *("Log", "LogSoftmax", "Max", "Mean", "Min", "Mish", "Mod", "Mul", "Neg", "NonZero", "Not", "Or", "PRelu"),
            *("Pad", "Pow", "QuantizeLinear", "Range", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceLogSum"),
            *("ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"),
            *("ReduceSumSquare", "Relu", "Reshape", "Round", "Selu", "Shape", "Sigmoid", "Sign", "Sin", "Sinh"),
            *("Size", "Slice", "Softmax", "Softplus", "Softsign", "SpaceToDepth", "Split", "Sqrt", "Squeeze", "Sub"),
            *("Sum", "Tan", "Tanh", "ThresholdedRelu", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where", "Xor"),
        ),
        1,
    ),
    **dict.fromkeys(
        (
            *("Compress", "GatherElements", "GatherND", "OneHot", "Resize", "Scatter", "ScatterElements"),
            *("ScatterND", "TopK", "Unique", "Upsample"),
        ),
        500,
    ),
    **dict.fromkeys(_PRODUCTS, 1),
}


class Constants:
    """Computes nodes whose inputs are constant.

    `stored` is the number of bytes of the values in the file, because a large file may have large constants.
    """

    def __init__(self, opset: int, stored: int) -> None:
        self._opset, self._allowed, self._ledger = opset, STORED_TIMES * stored, Ledger()

    def compute(self, node: Any, inputs: Sequence[AnyArray]) -> list[AnyArray]:
        """Return the outputs of a node.

        Raises a `ConversionError` if they can't be computed, and a `LimitError` if that is too much work.
        """
        if node.op_type.startswith(_RANDOM):
            raise ConversionError("the result is random, which a Caffe net can't compute")
        if node.op_type == "If":
            return self._branch(node, inputs)
        if node.op_type not in _COSTS or node.domain not in ("", "ai.onnx"):
            raise ConversionError(
                f"constants that {node.op_type[:_SHOWN]} computes can't be converted; run onnxsim on the model first, "
                "which computes them"
            )
        arrays = dict(zip((name for name in node.input if name), inputs, strict=True))
        model = _model_of(node, arrays, self._opset)
        self._charge(node, arrays, _output_sizes(node, arrays, model))
        try:
            results = iter(onnx_module("reference").ReferenceEvaluator(model).run(None, arrays))
        except Exception as problem:  # operators raise exceptions of any class
            raise ConversionError(
                f"the constant can't be computed: {next(iter(str(problem).splitlines()), problem)}"
            ) from None
        return [np.asarray(next(results)) if name else np.empty(0) for name in node.output]

    def _branch(self, node: Any, inputs: Sequence[AnyArray]) -> list[AnyArray]:
        """Return the outputs of the branch that a constant condition chooses."""
        chosen = "then_branch" if inputs and inputs[0].any() else "else_branch"
        graphs = [attribute.g for attribute in node.attribute if attribute.name == chosen]
        values = dict[str, AnyArray]()
        for graph in graphs:
            values.update({tensor.name: onnx_module("numpy_helper").to_array(tensor) for tensor in graph.initializer})
            for inner in graph.node:
                outputs = self.compute(inner, [_known(values, name) for name in inner.input if name])
                values.update(zip(inner.output, outputs, strict=True))
        return [_known(values, output.name) for graph in graphs for output in graph.output]

    def _charge(self, node: Any, arrays: Mapping[str, AnyArray], sizes: Mapping[str, tuple[int, int]]) -> None:
        """Charge the values of the outputs, given as numbers of values and bytes, and the operations."""
        for name, (count, bytes_needed) in sizes.items():
            what = f"the constant '{name[:_SHOWN]}', which {node.op_type} computes,"
            Limit.VALUES.check(count, what)
            self._ledger.charge(
                Limit.MEMORY, bytes_needed, f"the constant '{name[:_SHOWN]}' with those before it", self._allowed
            )
        inputs = list(arrays.values())
        read, written = sum(array.size for array in inputs), sum(count for count, _ in sizes.values())
        inner = max(inputs[0].shape, default=1) if node.op_type in _PRODUCTS and inputs else 1
        operations = _NODE + _COSTS[node.op_type] * (read + written * inner)
        what = f"the constant '{next(iter(node.output), '')[:_SHOWN]}' with those before it"
        self._ledger.charge(Limit.OPERATIONS, operations, what, self._allowed)


def _known(values: Mapping[str, AnyArray], name: str) -> AnyArray:
    if name not in values:
        raise ConversionError(
            f"the branch reads '{name[:_SHOWN]}' from outside; run onnxsim on the model first, which computes it"
        )
    return values[name]


def _model_of(node: Any, arrays: Mapping[str, AnyArray], opset: int) -> Any:
    """Return a model of one node."""
    helper, library = onnx().helper, onnx()
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in arrays.items()
    ]
    outputs = [library.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "constant", infos, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def _output_sizes(node: Any, arrays: Mapping[str, AnyArray], model: Any) -> dict[str, tuple[int, int]]:
    """Return the numbers of values and bytes of a node's outputs, before it computes them."""
    if node.op_type in _SELECTIONS:
        read = max(sum(array.size * max(array.ndim, 1) for array in arrays.values()), 1)
        return {name: (read, 8 * read) for name in node.output if name}
    known = onnx().ModelProto()
    known.CopyFrom(model)
    left = _MOST_SMALL
    for name, array in arrays.items():
        if array.size <= min(_SMALL, left):
            known.graph.initializer.append(onnx_module("numpy_helper").from_array(array, name))
            left -= array.size
    try:
        inferred = onnx_module("shape_inference").infer_shapes(known, strict_mode=True)
    except Exception as problem:  # onnx's exception class isn't public
        raise ConversionError(
            f"the shapes can't be inferred: {first_line(problem)}; give the shapes of all inputs in Python, as "
            f"in from_onnx(model, shapes={{'data': (1, 3, 224, 224)}})"
        ) from None
    return {output.name: _size_of(output) for output in inferred.graph.output}


def _size_of(output: Any) -> tuple[int, int]:
    kind = output.type.tensor_type
    if (
        not output.type.HasField("tensor_type")
        or not kind.HasField("shape")
        or not all(dim.HasField("dim_value") for dim in kind.shape.dim)
    ):
        raise ConversionError(
            f"the size of the constant '{output.name[:_SHOWN]}' isn't known before it is computed; run onnxsim on the "
            "model first, which computes it"
        )
    count = math.prod(dim.dim_value for dim in kind.shape.dim)
    return count, count * np.dtype(onnx().helper.tensor_dtype_to_np_dtype(kind.elem_type)).itemsize
