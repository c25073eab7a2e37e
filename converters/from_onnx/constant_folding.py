"""Constants of an ONNX graph: initializers, and nodes that depend on constants only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from converters.onnx.library import onnx, onnx_module
from converters.onnx.reading import MOST_VALUES
from netdsl.errors import ConversionError, first_line
from netdsl.weights.match import AnyArray

_SMALL = 1000  # values, of inputs that say how long something is
_LOOPS = ("Loop", "Scan", "SequenceMap")


def initializers(graph: Any) -> Iterator[tuple[str, AnyArray]]:
    """The initializers of a graph by name."""
    if graph.sparse_initializer:
        raise ConversionError(f"'{graph.sparse_initializer[0].values.name}' is a sparse tensor")
    for tensor in graph.initializer:
        try:
            yield tensor.name, onnx_module("numpy_helper").to_array(tensor)
        except Exception as problem:  # of several classes, for values that don't fit the shape or the type
            raise ConversionError(f"initializer '{tensor.name}' is damaged: {first_line(problem)}") from None


def evaluate_node(node: Any, inputs: Sequence[AnyArray], opset: int) -> list[AnyArray]:
    """The outputs of a node for constant inputs."""
    if node.op_type.startswith(("Random", "Bernoulli", "Multinomial")):
        raise ConversionError("its result is random")
    if node.op_type in _LOOPS:
        raise ConversionError("loops aren't run to make constants")
    library = onnx()
    names = [name for name in node.input if name]
    arrays = dict(zip(names, inputs, strict=True))
    input_infos = [_value_info(name, array) for name, array in arrays.items()]
    output_infos = [library.ValueInfoProto(name=name) for name in node.output if name]
    graph = library.helper.make_graph([node], "constant", input_infos, output_infos)
    imports = [library.helper.make_opsetid(node.domain, 1 if node.domain else opset)]
    model = library.helper.make_model(graph, opset_imports=imports)
    _check_size(model, arrays)
    try:
        results = iter(onnx_module("reference").ReferenceEvaluator(model).run(None, arrays))
    except Exception as problem:  # operators raise exceptions of any class
        raise ConversionError(f"can't be computed: {next(iter(str(problem).splitlines()), problem)}") from None
    return [np.asarray(next(results)) if name else np.empty(0) for name in node.output]


def _check_size(model: Any, arrays: Mapping[str, AnyArray]) -> None:
    """Raise a ConversionError if a node, by the shapes that follow from its inputs, would fill the memory."""
    known = type(model)()
    known.CopyFrom(model)
    small = [(name, array) for name, array in arrays.items() if array.size <= _SMALL]
    known.graph.initializer.extend(onnx_module("numpy_helper").from_array(array, name) for name, array in small)
    try:
        inferred = onnx_module("shape_inference").infer_shapes(known, data_prop=True)
    except Exception as problem:  # its class isn't public
        raise ConversionError(f"its shapes can't be told: {first_line(problem)}") from None
    for output in inferred.graph.output:
        lengths = [dim.dim_value for dim in output.type.tensor_type.shape.dim]
        if math.prod(lengths) > MOST_VALUES:
            raise ConversionError(f"'{output.name}' would be a constant of shape {lengths}, which no net needs")


def _value_info(name: str, array: AnyArray) -> Any:
    helper = onnx().helper
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
