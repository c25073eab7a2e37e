"""From an ONNX model to a Caffe net: node by node, and both run on the same inputs at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.errors import CaffeError, FileError
from converters.from_onnx import activation, arithmetic, shaping, sliding
from converters.from_onnx.folding import constants_of, folded
from converters.from_onnx.library import part
from converters.from_onnx.node import OnnxNode
from converters.incoming.net import NetBlob, NetWriter, Value
from converters.incoming.problems import Problems
from converters.onnx.library import onnx
from converters.onnx.verification import verify as run_beside
from netdsl.errors import ConversionError
from netdsl.layer import Shape
from netdsl.model import Model, built_of

OPERATORS = {**sliding.OPERATORS, **activation.OPERATORS, **arithmetic.OPERATORS, **shaping.OPERATORS}

_DOMAINS = ("", "ai.onnx")
_OF_SHAPES = ("Shape", "Size")  # constants although their input isn't


def from_onnx(model: Any, *, shapes: Mapping[str, Shape] | None = None, verify: bool = True) -> Model:
    """A net with weights that computes what an ONNX model does, which is a ModelProto or the path of a file.

    Lengths that the model leaves open are 1 if they are a batch's; others are given by `shapes`. Blobs have the
    model's names. Nodes without a counterpart are one ConversionError. With `verify` onnxruntime and the net run on
    random inputs, and an output that differs is an error too.
    """
    what = str(model) if isinstance(model, (str, Path)) else "the model"
    found = _loaded(model) if isinstance(model, (str, Path)) else model
    try:
        flat = part("inliner").inline_local_functions(found) if found.functions else found
        net = Importer(flat, shapes or {}).run()
    except CaffeError as problem:
        raise type(problem)(f"{what}: {problem}") from None
    if verify:
        _verify(model, net, what)
    return net


def _loaded(path: str | Path) -> Any:
    if not Path(path).is_file():
        raise FileError(f"{path}: can't be opened: no such file")
    library = onnx()
    try:
        model = library.load(path)
    except Exception as problem:  # protobuf's, and those of files with external data
        reason = next(iter(str(problem).splitlines()), type(problem).__name__)
        raise FileError(f"{path}: is no ONNX model that can be read: {reason}") from None
    if not model.graph.output:
        raise FileError(f"{path}: is no ONNX model: it has no outputs")
    return model


def _verify(model: Any, made: Model, what: str) -> None:
    """An error unless both give the same outputs for the same random inputs."""
    random = np.random.default_rng(0)
    inputs = {layer.top[0]: random.standard_normal(tuple(layer.input_param.shape[0].dim)).astype(np.float32)
              for layer in made.net.layer if layer.type == "Input"}  # fmt: skip
    report = run_beside(model, built_of(made), inputs=inputs)
    if not report.passed:
        raise ConversionError(f"{what}: the net doesn't compute what the model does: {report}")


class Importer:
    """One graph on its way."""

    def __init__(self, model: Any, shapes: Mapping[str, Shape]) -> None:
        self.graph = model.graph
        self.nodes = _needed(self.graph)
        self.read = {each for node in self.nodes for each in node.input} | {each.name for each in self.graph.output}
        self.opset = max((each.version for each in model.opset_import if each.domain in _DOMAINS), default=1)
        self.values: dict[str, Value] = dict(constants_of(self.graph))
        names = [name for node in self.graph.node for name in node.output]
        self.net = NetWriter(self.graph.name or "net", [each for each in names if each])
        self.problems = Problems()
        self.lost: dict[str, bool] = {}  # what couldn't be made, and all behind it; whether it depends on the inputs
        self.shapes = shapes
        self.rules = _rules(model)

    def run(self) -> Model:
        """The net."""
        inputs = [each for each in self.graph.input if each.name not in self.values]
        if not inputs:
            raise ConversionError("it has no inputs, so that it always gives the same")
        unknown = set(self.shapes) - {each.name for each in inputs}
        if unknown:
            raise ConversionError(f"has no input '{min(unknown)}'; its inputs are {[each.name for each in inputs]}")
        for value in inputs:
            self.values[value.name] = self.net.input(value.name, self._shape(value))
        for node in self.nodes:
            self._convert(node)
        self.problems.check("it")
        outputs = [(each.name, self._value(each.name, "an output")) for each in self.graph.output]
        model, names = self.net.finished(outputs)
        _name_outputs(self.net, names, [name for name, _ in outputs])
        return model

    def _shape(self, value: Any) -> Shape:
        if value.name in self.shapes:
            return tuple(self.shapes[value.name])
        dims = value.type.tensor_type.shape.dim
        sizes = [dim.dim_value or (1 if place == 0 else 0) for place, dim in enumerate(dims)]
        if not sizes or 0 in sizes:
            raise ConversionError(f"input '{value.name}' leaves its shape open; give it in shapes")
        return tuple(sizes)

    def _convert(self, node: Any) -> None:
        """Make the layers of a node. Behind one that can't be, nothing more is said but of unknown operators."""
        name = (node.name or node.output[0]).strip("/")
        varies = node.op_type not in _OF_SHAPES and any(map(self._varies, node.input))
        behind = any(each in self.lost for each in node.input)
        self.lost.update(dict.fromkeys(node.output, varies))
        with self.problems.of(node.op_type, name):
            made = None if varies or behind else self._folded(node)
            known = node.op_type in OPERATORS and node.domain in _DOMAINS
            if made is None and not known and varies:
                self.problems.add(node.op_type, name)
            elif made is None and not behind:
                made = self._made(node, name)
            if made is not None:
                self._keep(node, made)

    def _keep(self, node: Any, made: Sequence[Value]) -> None:
        missing = [each for each in node.output[len(made) :] if each in self.read]
        if missing:
            raise ConversionError(f"its output '{missing[0]}' is made by no layer of Caffe's")
        for wanted, value in zip(node.output, made, strict=False):
            self.values[wanted] = self._named(value, wanted)
            self.lost.pop(wanted, None)

    def _varies(self, name: str) -> bool:
        return self.lost.get(name, False) or isinstance(self.values.get(name), NetBlob)

    def _made(self, node: Any, name: str) -> Sequence[Value]:
        try:
            part("checker").check_node(node, self.rules)
        except Exception as problem:  # the checker's own
            raise ConversionError(next(iter(str(problem).splitlines()), "isn't as ONNX wants it")) from None
        self.net.node = name
        try:
            found = OPERATORS[node.op_type](self.net, self._node(node, name))
        except (ArithmeticError, LookupError, TypeError, ValueError) as problem:  # lengths that don't fit, and the like
            raise ConversionError(f"isn't as ONNX wants it: {problem}") from problem
        return [found] if isinstance(found, NetBlob) else found

    def _value(self, name: str, what: str) -> Value:
        if name not in self.values:
            raise ConversionError(f"'{name}', {what}, is made by no node before it")
        return self.values[name]

    def _folded(self, node: Any) -> Sequence[Value]:
        """The outputs of a node that doesn't depend on the inputs, but perhaps on their shapes."""
        inputs = [self._value(each, "an input") for each in node.input if each]
        arrays = [np.empty(each.shape, np.float32) if isinstance(each, NetBlob) else each for each in inputs]
        return folded(node, arrays, self.opset)

    def _node(self, node: Any, name: str) -> OnnxNode:
        inputs = [self._value(each, "an input") if each else None for each in node.input]
        attributes = {each.name: _plain(onnx().helper.get_attribute_value(each)) for each in node.attribute}
        return OnnxNode(node.op_type, name, inputs, len(node.output), attributes, self.opset)

    def _named(self, value: Value, wanted: str) -> Value:
        """What a layer has just made is called as the model calls it."""
        if not isinstance(value, NetBlob) or not wanted or any(each is value for each in self.values.values()):
            return value
        return self.net.rename(value, wanted)


def _rules(model: Any) -> Any:
    """What the checker wants to know of a model before it looks at a node."""
    context = part("checker").C.CheckerContext()
    context.ir_version = model.ir_version
    context.opset_imports = {each.domain: each.version for each in model.opset_import}
    return context


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _needed(graph: Any) -> list[Any]:
    """The nodes on which the outputs depend, in their order."""
    wanted, found = {each.name for each in graph.output}, []
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            found.append(node)
    return found[::-1]


def _name_outputs(net: NetWriter, names: Sequence[str], wanted: Sequence[str]) -> None:
    """The outputs are called as the model's, and what has such a name inside gets another."""
    for name, own in zip(names, wanted, strict=True):
        if name != own:
            net.rename(NetBlob(own, ()), f"{own}/inside")
            net.rename(NetBlob(name, ()), own)
