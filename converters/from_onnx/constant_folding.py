"""Constants of an ONNX graph: initializers, and nodes that depend on constants only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from converters.onnx.library import onnx, onnx_module
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray


def initializers(graph: Any) -> Iterator[tuple[str, AnyArray]]:
    """The initializers of a graph by name."""
    if graph.sparse_initializer:
        raise ConversionError(f"'{graph.sparse_initializer[0].values.name}' is a sparse tensor")
    for tensor in graph.initializer:
        yield tensor.name, onnx_module("numpy_helper").to_array(tensor)


def evaluate_node(node: Any, inputs: Sequence[AnyArray], opset: int) -> list[AnyArray]:
    """The outputs of a node for constant inputs."""
    if node.op_type.startswith(("Random", "Bernoulli", "Multinomial")):
        raise ConversionError("its result is random")
    library = onnx()
    names = [name for name in node.input if name]
    arrays = dict(zip(names, inputs, strict=True))
    input_infos = [_value_info(name, array) for name, array in arrays.items()]
    output_infos = [library.ValueInfoProto(name=name) for name in node.output if name]
    graph = library.helper.make_graph([node], "constant", input_infos, output_infos)
    imports = [library.helper.make_opsetid(node.domain, 1 if node.domain else opset)]
    model = library.helper.make_model(graph, opset_imports=imports)
    try:
        results = iter(onnx_module("reference").ReferenceEvaluator(model).run(None, arrays))
    except Exception as problem:  # operators raise exceptions of any class
        raise ConversionError(f"can't be computed: {next(iter(str(problem).splitlines()), problem)}") from None
    return [np.asarray(next(results)) if name else np.empty(0) for name in node.output]


def _value_info(name: str, array: AnyArray) -> Any:
    helper = onnx().helper
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
