"""Messages as the DSL's calls: the expression that would make a layer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from keyword import iskeyword
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import enum_of
from caffe_proto.text.scalars import format_value
from netdsl.dsl.constructors import STRUCTURE, Constructor
from netdsl.dsl.expression import BracketKind, CompoundExpression, Expression, Leaf, quoted
from netdsl.errors import NetError
from netdsl.layers import LAYERS

_SHARED_NAME = "caffe_proto.ParamSpec.name"
_REAL = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)

Items = list[tuple[str, Expression]]


class Writer:
    """Writes layers, and remembers the functions that it needs. Types that nobody knows get one of their own."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.unknown: dict[str, str] = {}  # types, and what their functions are called

    def layer(self, layer: pb.LayerParameter) -> CompoundExpression:
        """The call that makes this layer."""
        if not layer.HasField("type"):
            raise NetError(f"layer '{layer.name}': has no type")
        if _is_rdd_layer(layer):
            self.used.add("RDDLayer")
            shape = [Leaf(str(dim), BracketKind.WHOLE, "dim") for dim in layer.input_param.shape[0].dim]
            return CompoundExpression("RDDLayer(", (("", _name(layer.name, "name")), ("shape=", _list(shape))), ")")
        constructor = Constructor(layer.type, LAYERS.get(layer.type))
        items: Items = [("", _name(layer.name, "name") if layer.HasField("name") else Leaf("None"))]
        items += [("", _names(layer.bottom, "bottom"))] if layer.bottom else []
        items += [*_tops(layer, constructor), *_settings(layer, constructor)]
        return CompoundExpression(f"{self._function(layer.type)}(", tuple(items), ")")

    def _function(self, type_name: str) -> str:
        if type_name in LAYERS:
            self.used.add(type_name)
            return type_name
        self.used.add("Constructor")
        if type_name not in self.unknown:
            taken = {*LAYERS, *self.unknown.values(), "Constructor", "LayerParameter", "NetParams", "RDDLayer"}
            words = "".join(re.findall(r"[A-Za-z0-9_]+", type_name)).lstrip("0123456789_") or "Unknown"
            self.unknown[type_name] = unique(words, taken)
        return self.unknown[type_name]


def unique(name: str, taken: Iterable[str]) -> str:
    """The name, with a number behind it if it is taken, or a line if it is a word of Python's."""
    name, count = f"{name}_" if iskeyword(name) else name, 1
    found = name
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found


def settings_of(message: Message, without: Iterable[str] = ()) -> Items:
    """The fields that are set, as keyword arguments."""
    return [
        (f"{field.name}=", _value(field, value)) for field, value in message.ListFields() if field.name not in without
    ]


def _is_rdd_layer(layer: pb.LayerParameter) -> bool:
    plain = {field.name for field, _ in layer.ListFields()} == {"name", "type", "top", "input_param"}
    return plain and layer.type == "Input" and list(layer.top) == [layer.name] and len(layer.input_param.shape) == 1


def _tops(layer: pb.LayerParameter, constructor: Constructor) -> Items:
    tops = list(layer.top)
    if tops and tops == list(layer.bottom[:1]):
        return [("in_place=", Leaf("True"))]
    return [] if tops == constructor.usual_tops(layer) else [("tops=", _names(tops, "top"))]


def _settings(layer: pb.LayerParameter, constructor: Constructor) -> Items:
    """Fields of the type's own message stand flat; those of every layer that would be taken for them in `layer`."""
    own, every, hidden = [], [], []
    for field, value in layer.ListFields():
        if field.name in STRUCTURE or field.name == "blobs":
            continue
        if field.name == constructor.field and _can_be_flat(value, constructor):
            own = settings_of(value)
        elif field.name in constructor.own:
            hidden.append((f"{quoted(field.name)}: ", _value(field, value)))
        else:
            every.append((f"{field.name}=", _value(field, value)))
    return [*own, *every, *([("layer=", CompoundExpression("{", tuple(hidden), "}"))] if hidden else [])]


def _can_be_flat(settings: Message, constructor: Constructor) -> bool:
    """Whether all that is set can be a keyword argument; that a message is there but empty can't."""
    names = {field.name for field, _ in settings.ListFields()}
    return bool(names) and names <= constructor.own and not any(map(iskeyword, names))


def _value(field: FieldDescriptor, value: Any) -> Expression:
    if not field.is_repeated:
        return _one(field, value)
    each = [_one(field, one) for one in value]
    return each[0] if len(each) == 1 else _list(each)


def _one(field: FieldDescriptor, value: Any) -> Expression:
    if isinstance(value, Message):
        items = [(f"{quoted(inner.name)}: ", _value(inner, each)) for inner, each in value.ListFields()]
        return CompoundExpression("{", tuple(items), "}")
    if field.full_name == _SHARED_NAME:
        return _name(value, "param")
    if isinstance(value, (str, bytes)):
        return Leaf(quoted(value))
    if isinstance(value, bool):
        return Leaf(str(value))
    if field.enum_type is not None:
        return Leaf(quoted(enum_of(field).values_by_number[value].name))
    return _number(field, value)


def _number(field: FieldDescriptor, value: float) -> Leaf:
    text = format_value(value, field).replace("e+", "e")
    if text.lstrip("-") in ("inf", "nan"):
        return Leaf(f'float("{text}")')
    kind = BracketKind.REAL if field.cpp_type in _REAL else BracketKind.WHOLE
    return Leaf("-0.0" if text == "-0" and kind is BracketKind.REAL else text, kind, field.name)


def _name(value: str, role: str) -> Leaf:
    return Leaf(value, BracketKind.NAME, role)


def _names(values: Iterable[str], role: str) -> CompoundExpression:
    return _list([_name(value, role) for value in values])


def _list(values: Iterable[Expression]) -> CompoundExpression:
    return CompoundExpression("[", tuple(("", value) for value in values), "]")
