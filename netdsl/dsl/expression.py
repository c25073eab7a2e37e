"""Layers as Python expressions: trees of calls, lists, dicts and leaves, and their layout in lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from keyword import iskeyword
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import enum_of, set_fields
from caffe_proto.text.scalars import format_value
from netdsl.dsl.constructors import STRUCTURE, Constructor
from netdsl.errors import NetError
from netdsl.layers import LAYERS

WIDTH = 120
INDENT = "    "
_SHARED_NAME = "caffe_proto.ParamSpec.name"
_FLOATS = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)


class LeafKind(Enum):
    """The kind of a leaf. Its value is the Python type of a parameter that replaces the leaf."""

    CODE = "code"
    NAME = "str"  # of a layer, a blob or a shared parameter
    INTEGER = "int"
    FLOAT = "float"


@dataclass(frozen=True)
class Leaf:
    """A value. `value` is its code, or the name itself for a name. `role` is its use, such as bottom or num_output."""

    value: str
    kind: LeafKind = LeafKind.CODE
    role: str = ""

    def __str__(self) -> str:
        return quoted(self.value) if self.kind is LeafKind.NAME else self.value


@dataclass(frozen=True)
class CompoundExpression:
    """A call, a list or a dict. Each item has the text before a value, such as `pad=`, and the value."""

    opening: str
    items: tuple[tuple[str, Expression], ...]
    closing: str

    def __str__(self) -> str:
        return self.opening + ", ".join(f"{before}{value}" for before, value in self.items) + self.closing


Expression = Leaf | CompoundExpression
Items = list[tuple[str, Expression]]


def quoted(text: str | bytes) -> str:
    """Return a string literal, with double quotes where possible, as formatters prefer."""
    literal = repr(text)
    return literal if '"' in literal else '"'.join(literal.rsplit("'", 1)).replace("'", '"', 1)


def lines_of(expression: Expression, width: int = WIDTH, before: str = "", after: str = "") -> list[str]:
    """Return the lines of an expression: a single line if it fits, or else one for each item."""
    line = f"{before}{expression}{after}"
    if len(line) <= width or isinstance(expression, Leaf) or not expression.items:
        return [line]
    inner = [
        INDENT + line
        for name, value in expression.items
        for line in lines_of(value, width - len(INDENT), before=name, after=",")
    ]
    return [before + expression.opening, *inner, expression.closing + after]


def leaves(expression: Expression) -> Iterator[Leaf]:
    """Yield the leaves of an expression in their order."""
    if isinstance(expression, Leaf):
        yield expression
    else:
        for _, value in expression.items:
            yield from leaves(value)


def with_leaves(expression: Expression, change: Callable[[Leaf], Leaf]) -> Expression:
    """Return the same tree with each leaf changed."""
    if isinstance(expression, Leaf):
        return change(expression)
    return replace(expression, items=tuple((name, with_leaves(value, change)) for name, value in expression.items))


class LayerWriter:
    """Writes layers as calls and collects the functions that they need. Unknown types get constructors."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.unknown_types: dict[str, str] = {}  # constructor names of unknown types, by type

    def layer(self, layer: pb.LayerParameter) -> CompoundExpression:
        """Return the call that makes a layer."""
        if not layer.HasField("type"):
            raise NetError(f"layer '{layer.name}' has no type; set it, as in type: 'ReLU'")
        if _is_rdd_layer(layer):
            self.used.add("RDDLayer")
            shape = [Leaf(str(dim), LeafKind.INTEGER, "dim") for dim in layer.input_param.shape[0].dim]
            return CompoundExpression(
                "RDDLayer(", (("", _name_leaf(layer.name, "name")), ("shape=", _list_of(shape))), ")"
            )
        constructor = Constructor(layer.type, LAYERS.get(layer.type))
        items: Items = [("", _name_leaf(layer.name, "name") if layer.HasField("name") else Leaf("None"))]
        items += [("", _name_list(layer.bottom, "bottom"))] if layer.bottom else []
        items += [*_tops_argument(layer, constructor), *_settings_arguments(layer, constructor)]
        return CompoundExpression(f"{self._function_name(layer.type)}(", tuple(items), ")")

    def _function_name(self, type_name: str) -> str:
        if type_name in LAYERS:
            self.used.add(type_name)
            return type_name
        self.used.add("Constructor")
        if type_name not in self.unknown_types:
            used_names = {
                *LAYERS,
                *self.unknown_types.values(),
                "Constructor",
                "LayerParameter",
                "NetParams",
                "RDDLayer",
            }
            words = "".join(re.findall(r"[A-Za-z0-9_]+", type_name)).lstrip("0123456789_") or "Unknown"
            self.unknown_types[type_name] = unique_name(words, used_names)
        return self.unknown_types[type_name]


def unique_name(name: str, used_names: Iterable[str]) -> str:
    """Return the name, with a number if it is in use or an underscore if it is a Python keyword."""
    name, count = f"{name}_" if iskeyword(name) else name, 1
    candidate = name
    while candidate in used_names:
        count += 1
        candidate = f"{name}_{count}"
    return candidate


def settings_of(message: Message, without: Iterable[str] = ()) -> Items:
    """Return the fields that are set in a message, as keyword arguments."""
    return [
        (f"{field.name}=", _value_of(field, value)) for field, value in set_fields(message) if field.name not in without
    ]


def _is_rdd_layer(layer: pb.LayerParameter) -> bool:
    plain = {field.name for field, _ in set_fields(layer)} == {"name", "type", "top", "input_param"}
    return plain and layer.type == "Input" and list(layer.top) == [layer.name] and len(layer.input_param.shape) == 1


def _tops_argument(layer: pb.LayerParameter, constructor: Constructor) -> Items:
    tops = list(layer.top)
    if tops and tops == list(layer.bottom[:1]):
        return [("in_place=", Leaf("True"))]
    return [] if tops == constructor.default_tops(layer) else [("tops=", _name_list(tops, "top"))]


def _settings_arguments(layer: pb.LayerParameter, constructor: Constructor) -> Items:
    """Return the settings of a layer as keyword arguments.

    Common fields with the name of a type's setting are in `layer=`.
    """
    type_settings, common, ambiguous = [], [], []
    for field, value in set_fields(layer):
        if field.name in STRUCTURE or field.name == "blobs":
            continue
        if field.name == constructor.field and _fits_keywords(value, constructor):
            type_settings = settings_of(value)
        elif field.name in constructor.type_settings:
            ambiguous.append((f"{quoted(field.name)}: ", _value_of(field, value)))
        else:
            common.append((f"{field.name}=", _value_of(field, value)))
    return [
        *type_settings,
        *common,
        *([("layer=", CompoundExpression("{", tuple(ambiguous), "}"))] if ambiguous else []),
    ]


def _fits_keywords(settings: Message, constructor: Constructor) -> bool:
    """Return whether all set fields can be keyword arguments. An empty message that is present can't."""
    names = {field.name for field, _ in settings.ListFields()}
    return bool(names) and names <= constructor.type_settings and not any(map(iskeyword, names))


def _value_of(field: FieldDescriptor, value: Any) -> Expression:
    if not field.is_repeated:
        return _single_value(field, value)
    values = [_single_value(field, item) for item in value]
    return values[0] if len(values) == 1 else _list_of(values)


def _single_value(field: FieldDescriptor, value: Any) -> Expression:
    if isinstance(value, Message):
        items = [
            (f"{quoted(inner.name)}: ", _value_of(inner, inner_value)) for inner, inner_value in value.ListFields()
        ]
        return CompoundExpression("{", tuple(items), "}")
    if field.full_name == _SHARED_NAME:
        return _name_leaf(value, "param")
    if isinstance(value, (str, bytes)):
        return Leaf(quoted(value))
    if isinstance(value, bool):
        return Leaf(str(value))
    if field.enum_type is not None:
        return Leaf(quoted(enum_of(field).values_by_number[value].name))
    return _number_leaf(field, value)


def _number_leaf(field: FieldDescriptor, value: float) -> Leaf:
    text = format_value(value, field).replace("e+", "e")
    if text.lstrip("-") in ("inf", "nan"):
        return Leaf(f'float("{text}")')
    kind = LeafKind.FLOAT if field.cpp_type in _FLOATS else LeafKind.INTEGER
    return Leaf("-0.0" if text == "-0" and kind is LeafKind.FLOAT else text, kind, field.name)


def _name_leaf(value: str, role: str) -> Leaf:
    return Leaf(value, LeafKind.NAME, role)


def _name_list(values: Iterable[str], role: str) -> CompoundExpression:
    return _list_of([_name_leaf(value, role) for value in values])


def _list_of(values: Iterable[Expression]) -> CompoundExpression:
    return CompoundExpression("[", tuple(("", value) for value in values), "]")
