"""Values of an ONNX graph that are the same for all inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from converters.from_onnx.library import part
from converters.onnx.library import onnx
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray


def constants_of(graph: Any) -> Iterator[tuple[str, AnyArray]]:
    """The initializers by name."""
    if graph.sparse_initializer:
        raise ConversionError(f"'{graph.sparse_initializer[0].values.name}' is a sparse tensor")
    for tensor in graph.initializer:
        yield tensor.name, part("numpy_helper").to_array(tensor)


def folded(node: Any, inputs: Sequence[AnyArray], opset: int) -> list[AnyArray]:
    """What a node gives for constants."""
    if node.op_type.startswith(("Random", "Bernoulli", "Multinomial")):
        raise ConversionError("gives something else each time")
    library = onnx()
    names = [each for each in node.input if each]
    given = dict(zip(names, inputs, strict=True))
    typed = [_typed(name, array) for name, array in given.items()]
    outputs = [library.ValueInfoProto(name=name) for name in node.output if name]
    graph = library.helper.make_graph([node], "constant", typed, outputs)
    imports = [library.helper.make_opsetid(node.domain, 1 if node.domain else opset)]
    model = library.helper.make_model(graph, opset_imports=imports)
    try:
        found = iter(part("reference").ReferenceEvaluator(model).run(None, given))
    except Exception as problem:  # whatever an operator may raise
        raise ConversionError(f"can't be computed: {next(iter(str(problem).splitlines()), problem)}") from None
    return [np.asarray(next(found)) if name else np.empty(0) for name in node.output]


def _typed(name: str, array: AnyArray) -> Any:
    helper = onnx().helper
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
