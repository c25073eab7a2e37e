"""Imports a torch module as a Caffe net. The module is traced, converted call by call, and verified by running both."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind, OutputKind

from converters.incoming.net_writer import ConversionProblems, NetBlob, NetWriter
from converters.running import TOLERANCE, difference
from converters.torch_import.operators import COUNTERPARTS, Call
from netdsl.errors import ConversionError
from netdsl.model.model import Model
from netdsl.model.weights.files import array_of
from netdsl.net.graph import Phase


def from_torch(module: nn.Module, example_inputs: Sequence[Tensor], *, name: str = "", verify: bool = True) -> Model:
    """Convert a module to a net with weights that computes the same values as the module in evaluation mode.

    The inputs have the shapes of the examples. Layers are named after the modules. One `ConversionError` reports all
    operators without an equivalent. With `verify`, the net also runs on the examples, and different outputs raise a
    `ConversionError`.
    """
    what, inputs = name or type(module).__name__, tuple(example_inputs)
    with _evaluation_mode(module), torch.no_grad():
        tracer = Tracer(_trace(module, inputs, what), what)
        model, outputs = tracer.run()
        if verify:
            _verify(module, inputs, model, outputs, what)
    return model


@contextmanager
def _evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Switch a module to evaluation mode, and restore its mode afterwards."""
    modes = [(child, child.training) for child in module.modules()]
    try:
        module.eval()
        yield
    finally:
        for child, training in modes:
            child.training = training


def _trace(module: nn.Module, inputs: tuple[Tensor, ...], what: str) -> ExportedProgram:
    try:
        return export(module, inputs)
    except Exception as problem:  # from the module's own code, or from torch if it can't trace that
        reason = next((line for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
        raise ConversionError(
            f"{what}: torch can't trace the module with these inputs: {reason}; pass inputs that the module accepts"
        ) from problem


def _verify(module: nn.Module, inputs: tuple[Tensor, ...], model: Model, outputs: Sequence[str], what: str) -> None:
    """Raise a `ConversionError` unless both compute the same outputs."""
    actual = model.module(Phase.TEST)(*(example.float() for example in inputs))
    expected = _tensors(module(*(example.clone() for example in inputs)))
    for name, tensor in zip(outputs, expected, strict=True):
        error = difference(array_of(actual[name]), array_of(tensor))
        if error > TOLERANCE:
            raise ConversionError(
                f"{what}: the net doesn't compute the same values as the module: output '{name}' differs by "
                f"{error:.1e} of its spread, more than {TOLERANCE:g}; report this module, or convert it "
                "with `verify=False` if the difference is acceptable"
            )


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield all tensors in the result of a module, in torch's order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple, Mapping)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(item)


class _SharedValue:
    """A value that several nodes share. An operator in place changes it for all of them."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Tracer:
    """Converts one traced module."""

    def __init__(self, program: ExportedProgram, name: str) -> None:
        self.program, self.net, self.problems = program, NetWriter(name), ConversionProblems()
        self.what = name
        self.values: dict[fx.Node, _SharedValue] = {}
        self.unconverted: set[fx.Node] = set()  # nodes that couldn't be converted, or that depend on such nodes

    def run(self) -> tuple[Model, list[str]]:
        """Convert all calls to a net. Returns the model, and the names of the blobs that are the module's outputs."""
        kinds = {spec.arg.name: spec for spec in self.program.graph_signature.input_specs}
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, kinds[node.name])
            elif node.op == "call_function":
                self._call(node)
        self.problems.check(self.what)
        names = self.net.end(list(self._outputs()))
        return self.net.model(), names

    def _placeholder(self, node: fx.Node, spec: Any) -> None:
        if spec.kind is InputKind.USER_INPUT:
            self.values[node] = _SharedValue(self.net.input(node.name, tuple(node.meta["val"].shape)))
        else:
            tensor = self.program.state_dict.get(spec.target)
            self.values[node] = _SharedValue(self.program.constants[spec.target] if tensor is None else tensor)

    def _outputs(self) -> Iterator[tuple[str, Any]]:
        specs = self.program.graph_signature.output_specs
        nodes = next(node for node in self.program.graph.nodes if node.op == "output").args[0]
        for node, spec in zip(nodes, specs, strict=True):
            if spec.kind is OutputKind.USER_OUTPUT and isinstance(node, fx.Node):
                value = self.values[node].value
                yield node.name, value if isinstance(value, NetBlob) else array_of(value)

    def _call(self, node: fx.Node) -> None:
        """Add the layers of a call.

        If a call can't be converted, only unknown operators are reported for the calls after it.
        """
        if not node.users and not _is_in_place(node):
            return
        operator_name = _name_of(node)
        after_unconverted = any(input_node in self.unconverted for input_node in node.all_input_nodes)
        supported = node.target is operator.getitem or operator_name in COUNTERPARTS
        constant = not after_unconverted and not any(
            _holds_blob(self.values[input_node].value) for input_node in node.all_input_nodes
        )
        self.unconverted.add(node)
        if not supported and not constant:
            self.problems.add(operator_name, node.name)
        elif not after_unconverted:
            with self.problems.of(operator_name, node.name):
                self.values[node] = self._apply_operator(node, operator_name, constant)
                self.unconverted.remove(node)

    def _apply_operator(self, node: fx.Node, operator_name: str, constant: bool) -> _SharedValue:
        arguments: Any = fx.node.map_arg(node.args, lambda input_node: self.values[input_node].value)
        keywords: Any = fx.node.map_arg(node.kwargs, lambda input_node: self.values[input_node].value)
        if node.target is operator.getitem:
            return _SharedValue(_item(*arguments))
        if constant:
            assert callable(node.target)
            return _SharedValue(node.target(*arguments, **keywords))
        self.net.node = _layer_name(node, operator_name)
        tops = COUNTERPARTS[operator_name](self.net, Call(_arguments_by_name(node.target, arguments, keywords)))
        changed = node.args[0]
        if not _is_in_place(node) or not isinstance(changed, fx.Node):
            return _SharedValue(tops)
        self.values[changed].value = tops
        return self.values[changed]


def _holds_blob(value: Any) -> bool:
    return isinstance(value, NetBlob) or (isinstance(value, (list, tuple)) and any(map(_holds_blob, value)))


def _item(values: Sequence[Any], index: int) -> Any:
    if index >= len(values):
        raise ConversionError(f"no Caffe layer computes result {index} of the operator before it")
    return values[index]


def _schema(target: Any) -> Any:
    return getattr(target, "_schema", None)


def _name_of(node: fx.Node) -> str:
    """Return the name of a node's operator. The name is the same for the variant that works in place."""
    schema = _schema(node.target)
    return schema.name.removeprefix("aten::").removesuffix("_") if schema else str(node.target)


def _is_in_place(node: fx.Node) -> bool:
    schema = _schema(node.target)
    return schema is not None and bool(schema.name.endswith("_"))


def _arguments_by_name(target: Any, arguments: Any, keywords: Any) -> dict[str, Any]:
    """Return all arguments by name, including the defaults of missing ones."""
    values = {
        argument.name: argument.default_value for argument in _schema(target).arguments if argument.has_default_value()
    }
    names = [argument.name for argument in _schema(target).arguments]
    return values | dict(zip(names, arguments, strict=False)) | dict(keywords)


def _layer_name(node: fx.Node, operator_name: str) -> str:
    """Return the name of a call's layer.

    It is the module's name if the module is one of torch's own, else the operator's name within the module.
    """
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path, kind = stack[-1] if stack else ("", "")
    if path and str(kind).startswith("torch.nn.modules."):
        return str(path)
    return f"{path}.{operator_name}" if path else operator_name
