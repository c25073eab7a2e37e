"""A net as readable Python: the program that would describe it in the DSL."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import enum_of
from caffe_proto.text.scalars import text_of
from netdsl.build import Types
from netdsl.dsl.constructors import Constructor
from netdsl.layers import LAYERS

_WIDTH = 118
_SAID_OTHERWISE = {"name", "type", "bottom", "top", "blobs"}


def to_python(net: pb.NetParameter, types: Types = LAYERS) -> str:
    """The source of a module with `params`, a NetParams that equals the net. Weights are left out."""
    calls = [_call(layer, types) for layer in net.layer]
    used = sorted({name for name, _ in calls} | {"NetParams"})
    arguments = [repr(net.name), *(call for _, call in calls), *_net_settings(net)]
    body = ",\n".join(_indented(argument) for argument in arguments)
    return f'"""{net.name or "A net"}."""\n\n{_imports(used)}\n\nparams = NetParams(\n{body},\n)\n'


def _imports(names: list[str]) -> str:
    line = f"from netdsl import {', '.join(names)}"
    return line if len(line) <= _WIDTH else "from netdsl import (\n" + "".join(f"    {name},\n" for name in names) + ")"


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


def _call(layer: pb.LayerParameter, types: Types) -> tuple[str, str]:
    """The name of the function that makes a layer, and the call."""
    shapes = layer.input_param.shape
    plain = {field.name for field, _ in layer.ListFields()} == {"name", "type", "top", "input_param"}
    if plain and list(layer.top) == [layer.name] and len(shapes) == 1:
        return "RDDLayer", _written("RDDLayer", [repr(layer.name), f"shape={list(shapes[0].dim)}"])
    constructor = Constructor(layer.type, types.get(layer.type))
    arguments = [repr(layer.name)] + ([repr(list(layer.bottom))] if layer.bottom else [])
    arguments += _tops(layer, constructor)
    settings = {field: value for field, value in layer.ListFields() if field.name not in _SAID_OTHERWISE}
    for field, value in settings.items():
        if field.name == constructor.field and _can_be_flat(value):
            arguments += [f"{inner.name}={_value(inner, each)}" for inner, each in value.ListFields()]
        else:
            arguments.append(f"{field.name}={_value(field, value)}")
    return layer.type, _written(layer.type, arguments)


def _tops(layer: pb.LayerParameter, constructor: Constructor) -> list[str]:
    tops = list(layer.top)
    if tops and tops == list(layer.bottom[:1]):
        return ["in_place=True"]
    return [] if tops == constructor.usual_tops(layer.name) else [f"tops={tops!r}"]


def _can_be_flat(settings: Message) -> bool:
    """Whether a type's own fields can be told from those of every layer; an empty message can't be said flat."""
    names = {field.name for field, _ in settings.ListFields()}
    return bool(names) and not names & {*pb.LayerParameter.DESCRIPTOR.fields_by_name, "tops", "in_place", "bottoms"}


def _written(function: str, arguments: list[str]) -> str:
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    return f"{function}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"


def _value(field: FieldDescriptor, value: Any) -> str:
    if not field.is_repeated:
        return _one(field, value)
    each = [_one(field, one) for one in value]
    return each[0] if len(each) == 1 else f"[{', '.join(each)}]"


def _one(field: FieldDescriptor, value: Any) -> str:
    if isinstance(value, Message):
        return "{" + ", ".join(f"{inner.name!r}: {_value(inner, each)}" for inner, each in value.ListFields()) + "}"
    if isinstance(value, (str, bytes, bool)):
        return repr(value)
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        return repr(enum_of(field).values_by_number[value].name)
    text = text_of(value, field)
    return text if text.lstrip("-") not in ("inf", "nan") else f"float('{text}')"


def _net_settings(net: pb.NetParameter) -> list[str]:
    said = {"name", "layer"}
    return [f"{field.name}={_value(field, value)}" for field, value in net.ListFields() if field.name not in said]
