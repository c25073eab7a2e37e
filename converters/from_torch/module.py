"""From a torch module to a Caffe net: traced, then call by call, and both run on the example at the end."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind, OutputKind

from converters.from_torch import activation, arithmetic, shaping, sliding
from converters.from_torch.call import Call
from converters.incoming.net import NetBlob, NetWriter
from converters.incoming.problems import Problems
from converters.onnx.verification import TOLERANCE, difference
from netdsl.errors import ConversionError
from netdsl.model import Model, built_of
from netdsl.net.module import NetModule
from netdsl.weights.files import array_of

COUNTERPARTS = {
    **sliding.COUNTERPARTS,
    **activation.COUNTERPARTS,
    **arithmetic.COUNTERPARTS,
    **shaping.COUNTERPARTS,
}


def from_torch(module: nn.Module, example_inputs: Sequence[Tensor], *, name: str = "", verify: bool = True) -> Model:
    """A net with weights that computes what a module does in evaluation, for inputs of the examples' shapes.

    Layers have the names of the modules. Operators without a counterpart are one ConversionError. With `verify` the
    net runs on the examples too, and an output that differs is an error.
    """
    what, inputs = name or type(module).__name__, tuple(example_inputs)
    with _evaluating(module), torch.no_grad():
        tracer = Tracer(_traced(module, inputs, what), what)
        model, outputs = tracer.run()
        if verify:
            _verify(module, inputs, model, outputs, what)
    return model


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """The module as it is in a test, and afterwards as it was."""
    before = [(each, each.training) for each in module.modules()]
    try:
        module.eval()
        yield
    finally:
        for each, training in before:
            each.training = training


def _traced(module: nn.Module, inputs: tuple[Tensor, ...], what: str) -> ExportedProgram:
    try:
        return export(module, inputs)
    except Exception as problem:  # whatever the module's own code raises, and torch's own where it can't follow
        reason = next((line for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
        raise ConversionError(f"{what}: can't be traced with these inputs: {reason}") from problem


def _verify(module: nn.Module, inputs: tuple[Tensor, ...], model: Model, outputs: Sequence[str], what: str) -> None:
    """An error unless both give the same outputs."""
    found = NetModule(built_of(model))(*(each.float() for each in inputs))
    wanted = _tensors(module(*(each.clone() for each in inputs)))
    for name, tensor in zip(outputs, wanted, strict=True):
        error = difference(array_of(found[name]), array_of(tensor))
        if error > TOLERANCE:
            raise ConversionError(
                f"{what}: the net doesn't compute what the module does: output '{name}' differs by {error:.1e} "
                f"of its spread, more than {TOLERANCE:g}"
            )


def _tensors(value: Any) -> Iterator[Tensor]:
    """All tensors in what a module returns, in torch's order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple, Mapping)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(each)


class _Cell:
    """A value that operators in place change for all who have it."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Tracer:
    """One traced module on its way."""

    def __init__(self, program: ExportedProgram, name: str) -> None:
        self.program, self.net, self.problems = program, NetWriter(name), Problems()
        self.what = name
        self.cells: dict[fx.Node, _Cell] = {}
        self.lost: set[fx.Node] = set()  # what couldn't be converted, and all behind it

    def run(self) -> tuple[Model, list[str]]:
        """The net, and the names of the module's outputs in it."""
        kinds = {spec.arg.name: spec for spec in self.program.graph_signature.input_specs}
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, kinds[node.name])
            elif node.op == "call_function":
                self._call(node)
        self.problems.check(self.what)
        return self.net.finished(list(self._outputs()))

    def _placeholder(self, node: fx.Node, spec: Any) -> None:
        if spec.kind is InputKind.USER_INPUT:
            self.cells[node] = _Cell(self.net.input(node.name, tuple(node.meta["val"].shape)))
        else:
            held = self.program.state_dict.get(spec.target)
            self.cells[node] = _Cell(self.program.constants[spec.target] if held is None else held)

    def _outputs(self) -> Iterator[tuple[str, Any]]:
        specs = self.program.graph_signature.output_specs
        nodes = next(node for node in self.program.graph.nodes if node.op == "output").args[0]
        for node, spec in zip(nodes, specs, strict=True):
            if spec.kind is OutputKind.USER_OUTPUT and isinstance(node, fx.Node):
                value = self.cells[node].value
                yield node.name, value if isinstance(value, NetBlob) else array_of(value)

    def _call(self, node: fx.Node) -> None:
        """Make the layers of a call. Behind one that can't be, nothing more is said but of unknown operators."""
        if not node.users and not _is_in_place(node):
            return
        operator_name = _name_of(node)
        behind = any(each in self.lost for each in node.all_input_nodes)
        known = node.target is operator.getitem or operator_name in COUNTERPARTS
        constant = not behind and not any(_holds_blob(self.cells[each].value) for each in node.all_input_nodes)
        self.lost.add(node)
        if not known and not constant:
            self.problems.add(operator_name, node.name)
        elif not behind:
            with self.problems.of(operator_name, node.name):
                self.cells[node] = self._made(node, operator_name, constant)
                self.lost.remove(node)

    def _made(self, node: fx.Node, operator_name: str, constant: bool) -> _Cell:
        arguments: Any = fx.node.map_arg(node.args, lambda each: self.cells[each].value)
        keywords: Any = fx.node.map_arg(node.kwargs, lambda each: self.cells[each].value)
        if node.target is operator.getitem:
            return _Cell(_item(*arguments))
        if constant:
            assert callable(node.target)
            return _Cell(node.target(*arguments, **keywords))
        self.net.node = _layer_name(node, operator_name)
        found = COUNTERPARTS[operator_name](self.net, Call(_bound(node.target, arguments, keywords)))
        changed = node.args[0]
        if not _is_in_place(node) or not isinstance(changed, fx.Node):
            return _Cell(found)
        self.cells[changed].value = found
        return self.cells[changed]


def _holds_blob(value: Any) -> bool:
    return isinstance(value, NetBlob) or (isinstance(value, (list, tuple)) and any(map(_holds_blob, value)))


def _item(values: Sequence[Any], place: int) -> Any:
    if place >= len(values):
        raise ConversionError(f"result {place} of what it reads is made by no layer of Caffe's")
    return values[place]


def _schema(target: Any) -> Any:
    return getattr(target, "_schema", None)


def _name_of(node: fx.Node) -> str:
    """What torch calls the operator, in place or not."""
    schema = _schema(node.target)
    return schema.name.removeprefix("aten::").removesuffix("_") if schema else str(node.target)


def _is_in_place(node: fx.Node) -> bool:
    schema = _schema(node.target)
    return schema is not None and bool(schema.name.endswith("_"))


def _bound(target: Any, arguments: Any, keywords: Any) -> dict[str, Any]:
    """All arguments by name, with the defaults of those that aren't given."""
    bound = {each.name: each.default_value for each in _schema(target).arguments if each.has_default_value()}
    names = [each.name for each in _schema(target).arguments]
    return bound | dict(zip(names, arguments, strict=False)) | dict(keywords)


def _layer_name(node: fx.Node, operator_name: str) -> str:
    """The module's name where the module is one of torch's, else the operator's within the module."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path, kind = stack[-1] if stack else ("", "")
    if path and str(kind).startswith("torch.nn.modules."):
        return str(path)
    return f"{path}.{operator_name}" if path else operator_name
