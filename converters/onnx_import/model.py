"""Imports an ONNX model as a Caffe net node by node, and verifies it by running both on the same inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.blobs import MAX_AXES
from caffe_proto.errors import CaffeError, name_advice
from caffe_proto.limits import Limit
from converters.incoming.net_writer import ConversionProblems, NetBlob, NetWriter, Value
from converters.onnx.files import indices_that_are_read, load_onnx, remove_unread_nodes
from converters.onnx.library import onnx, onnx_module
from converters.onnx.verification import verify as verify_onnx
from converters.onnx_import.constants import Constants
from converters.onnx_import.operators import OPERATORS, OnnxNode
from netdsl.errors import ConversionError, first_line
from netdsl.layer import Shape
from netdsl.model.model import Model
from netdsl.model.weights.match import AnyArray
from netdsl.net.graph import Phase
from netdsl.net.work import check_pass

_DOMAINS = ("", "ai.onnx")
_OF_SHAPES = ("Shape", "Size")  # operators whose result is constant even if their input isn't


def from_onnx(model: Any, *, shapes: Mapping[str, Shape] | None = None, verify: bool = True) -> Model:
    """Convert an ONNX model to an equivalent net with weights.

    The model is a ModelProto or the path of a file. An open batch size becomes 1. Other open lengths must be in
    `shapes`. Blobs keep the model's names. One `ConversionError` reports all nodes without an equivalent. With
    `verify`, onnxruntime and the net run on random inputs, and different outputs raise a `ConversionError` too.
    """
    what = str(model) if isinstance(model, (str, Path)) else "the model"
    loaded = load_onnx(model) if isinstance(model, (str, Path)) else model
    try:
        flat = onnx_module("inliner").inline_local_functions(loaded) if loaded.functions else loaded
        if flat is not model:
            remove_unread_nodes(flat.graph)
        net = Importer(flat, shapes or {}).run()
        if verify:
            _verify(flat, net)
    except CaffeError as problem:
        reason = " ".join(str(problem).splitlines())  # names in a damaged file may contain any characters
        raise type(problem)(f"{what}: {reason}") from None
    return net


def _verify(model: Any, converted: Model) -> None:
    """Raise a `ConversionError` unless both compute the same outputs for the same random inputs."""
    random = np.random.default_rng(0)
    inputs = {layer.top[0]: random.standard_normal(tuple(layer.input_param.shape[0].dim)).astype(np.float32)
              for layer in converted.net.layer if layer.type == "Input"}  # fmt: skip
    check_pass(converted.layers(Phase.TEST), model.ByteSize(), "the pass that verifies the import")
    report = verify_onnx(model, converted, inputs=inputs)
    if not report.passed:
        raise ConversionError(
            f"the net doesn't compute the same values as the model: {report}; report this model, or convert it "
            "with `from_onnx(model, verify=False)` if the difference is acceptable"
        )


class Importer:
    """Converts one graph."""

    def __init__(self, model: Any, shapes: Mapping[str, Shape]) -> None:
        self.graph = model.graph
        self.nodes = [self.graph.node[index] for index in indices_that_are_read(self.graph)]
        self.read_names = {item for node in self.nodes for item in node.input} | {
            item.name for item in self.graph.output
        }
        self.opset = max((item.version for item in model.opset_import if item.domain in _DOMAINS), default=1)
        self.values: dict[str, Value] = dict(_initializers(self.graph))
        stored = sum(value.nbytes for value in self.values.values() if not isinstance(value, NetBlob))
        self.constants = Constants(self.opset, stored)
        names = [name for node in self.graph.node for name in node.output]
        self.net = NetWriter(self.graph.name or "net", [item for item in names if item])
        self.problems = ConversionProblems()
        # Values that couldn't be converted, or that depend on such values. A value is true if it depends on the net's
        # inputs.
        self.unconverted: dict[str, bool] = {}
        self.named = set[str]()  # the blobs that have the names of values of the model, which they keep
        self.shapes = shapes
        self.checker_context = _checker_context(model)

    def run(self) -> Model:
        """Convert all nodes to a net."""
        inputs = [value for value in self.graph.input if value.name not in self.values]
        if not inputs:
            raise ConversionError(
                "the net has no inputs, so its outputs are constant; export the model with its data as an input"
            )
        unknown = set(self.shapes) - {value.name for value in inputs}
        if unknown:
            advice = name_advice(min(unknown), [value.name for value in inputs])
            raise ConversionError(f"the net doesn't have the input '{min(unknown)}'; {advice}")
        for value in inputs:
            self.values[value.name] = self.net.input(value.name, self._shape(value))
            self.named.add(value.name)
        for node in self.nodes:
            self._convert(node)
        self.problems.check("the net")
        outputs = [(value.name, self._value(value.name, "an output")) for value in self.graph.output]
        names = self.net.end(outputs)
        _name_outputs(self.net, names, [name for name, _ in outputs])
        return self.net.model()

    def _shape(self, value: Any) -> Shape:
        if value.name in self.shapes:
            return tuple(self.shapes[value.name])
        dims = value.type.tensor_type.shape.dim
        sizes = [dim.dim_value or (1 if axis == 0 else 0) for axis, dim in enumerate(dims)]
        if not sizes or 0 in sizes:
            raise ConversionError(
                f"input '{value.name}' has an open shape; state it without the batch, as in --assume "
                f"{value.name}=3x224x224, or in Python, as in from_onnx(model, shapes={{'{value.name}': (1, 3, 224, "
                "224)})"
            )
        if min(sizes) < 0 or len(sizes) > MAX_AXES or math.prod(sizes) > Limit.VALUES.most:
            raise ConversionError(
                f"input '{value.name}' has shape {sizes[:MAX_AXES]}, which a Caffe net can't have; state "
                f"another one, as in --assume {value.name}=3x224x224"
            )
        return tuple(sizes)

    def _convert(self, node: Any) -> None:
        """Add the layers of a node.

        If a node can't be converted, only unknown operators are reported for the nodes after it.
        """
        name = (node.name or node.output[0]).strip("/")
        varies = node.op_type not in _OF_SHAPES and any(map(self._varies, node.input))
        after_unconverted = any(value in self.unconverted for value in node.input)
        self.unconverted.update(dict.fromkeys(node.output, varies))
        with self.problems.of(node.op_type, name):
            outputs = None if varies or after_unconverted else self._fold_constant(node)
            supported = node.op_type in OPERATORS and node.domain in _DOMAINS
            if outputs is None and not supported and varies:
                self.problems.add(node.op_type, name)
            elif outputs is None and not after_unconverted:
                outputs = self._apply_operator(node, name)
            if outputs is not None:
                self._store_outputs(node, outputs)

    def _store_outputs(self, node: Any, outputs: Sequence[Value]) -> None:
        missing = [output for output in node.output[len(outputs) :] if output in self.read_names]
        if missing:
            raise ConversionError(f"no Caffe layer computes the output '{missing[0]}'")
        for output, value in zip(node.output, outputs, strict=False):
            self.values[output] = value = self._renamed(value, output)
            if isinstance(value, NetBlob):
                self.named.add(value.name)
            self.unconverted.pop(output, None)

    def _varies(self, name: str) -> bool:
        return self.unconverted.get(name, False) or isinstance(self.values.get(name), NetBlob)

    def _apply_operator(self, node: Any, name: str) -> Sequence[Value]:
        try:
            onnx_module("checker").check_node(node, self.checker_context)
        except Exception as problem:  # the checker's exception class isn't public
            raise ConversionError(next(iter(str(problem).splitlines()), "the node isn't valid ONNX")) from None
        self.net.node = name
        try:
            tops = OPERATORS[node.op_type](self.net, self._node(node, name))
        except (ArithmeticError, LookupError, TypeError, ValueError) as problem:  # lengths that don't fit, for example
            raise ConversionError(f"the node isn't valid ONNX: {problem}") from problem
        return [tops] if isinstance(tops, NetBlob) else tops

    def _value(self, name: str, what: str) -> Value:
        if name not in self.values:
            raise ConversionError(f"'{name}' is {what}, but no earlier node produces it")
        return self.values[name]

    def _fold_constant(self, node: Any) -> Sequence[Value]:
        """Return the outputs of a node that may depend on the shapes of the net's inputs, but not on their values."""
        inputs = [self._value(value, "an input") for value in node.input if value]
        arrays = [
            np.broadcast_to(np.float32(0), value.shape) if isinstance(value, NetBlob) else value for value in inputs
        ]
        return self.constants.compute(node, arrays)

    def _node(self, node: Any, name: str) -> OnnxNode:
        inputs = [self._value(item, "an input") if item else None for item in node.input]
        attributes = {item.name: _attribute_value(onnx().helper.get_attribute_value(item)) for item in node.attribute}
        return OnnxNode(node.op_type, name, inputs, len(node.output), attributes, self.opset)

    def _renamed(self, value: Value, name: str) -> Value:
        """Rename the blob of a new layer to its name in the model."""
        if not isinstance(value, NetBlob) or not name or value.name in self.named:
            return value
        return self.net.rename(value, name)


def _checker_context(model: Any) -> Any:
    """Return the context in which onnx checks the nodes of a model."""
    context = onnx_module("checker").C.CheckerContext()
    context.ir_version = model.ir_version
    context.opset_imports = {opset.domain: opset.version for opset in model.opset_import}
    return context


def _attribute_value(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _name_outputs(net: NetWriter, names: Sequence[str], output_names: Sequence[str]) -> None:
    """Rename the outputs to the model's names. Inner blobs with these names are renamed first."""
    for name, output_name in zip(names, output_names, strict=True):
        if name != output_name:
            net.rename(NetBlob(output_name, ()), f"{output_name}/inside")
            net.rename(NetBlob(name, ()), output_name)


def _initializers(graph: Any) -> Iterator[tuple[str, AnyArray]]:
    """Yield the initializers of a graph by name."""
    if graph.sparse_initializer:
        raise ConversionError(
            f"'{graph.sparse_initializer[0].values.name}' is a sparse tensor, which can't be converted; export "
            "the model with dense tensors"
        )
    for tensor in graph.initializer:
        try:
            yield tensor.name, onnx_module("numpy_helper").to_array(tensor)
        except Exception as problem:  # onnx raises various classes for values that don't fit the shape or the type
            raise ConversionError(
                f"initializer '{tensor.name}' is damaged: {first_line(problem)}; export the model again"
            ) from None
