"""Writes `layer_types.pyi`, which tells editors and type checkers the settings of every layer type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import cleandoc
from keyword import iskeyword
from pathlib import Path

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import enum_of, fields_of
from netdsl.dsl.constructors import OF_EVERY_LAYER, STRUCTURE, Constructor
from netdsl.layers import LAYERS
from netdsl.net.build import Types

STUB = Path(__file__).with_name("layer_types.pyi")
_HEAD = '''# ruff: noqa
# fmt: off
"""A function for every layer type. Written by `make stubs`."""

from collections.abc import Sequence
from typing import Literal, TypedDict, Unpack

from caffe_proto import caffe_pb2 as pb
'''
_SCALARS = {
    FieldDescriptor.CPPTYPE_FLOAT: "float",
    FieldDescriptor.CPPTYPE_DOUBLE: "float",
    FieldDescriptor.CPPTYPE_BOOL: "bool",
}
_NO_NET_SETTINGS = {"name", "layer", "layers", "input", "input_shape", "input_dim"}  # given otherwise, or old

Fields = Mapping[str, FieldDescriptor]


def stub(types: Types = LAYERS) -> str:
    """The whole stub."""
    constructors = [Constructor(name, kind) for name, kind in sorted(types.items())]
    every = {name: field for name, field in OF_EVERY_LAYER.items() if name not in STRUCTURE | {"blobs"}}
    contested = {name: field for name, field in every.items() if any(name in each.own for each in constructors)}
    net = {name: field for name, field in fields_of(pb.NetParameter).items() if name not in _NO_NET_SETTINGS}
    messages, enums = _reachable([*every.values(), *net.values(), *_own_fields(constructors)])
    parts = [
        _HEAD,
        "__all__ = [\n" + "".join(f'    "{each.type}",\n' for each in constructors) + "]\n",
        *(_enum(enum) for enum in enums),
        "",
        *(_typed_dict(_dict_name(message), message.fields_by_name) for message in messages),
        _typed_dict("LayerSettings", {name: every[name] for name in every if name not in contested}),
        _typed_dict("AllLayerSettings", contested, "LayerSettings"),
        _typed_dict("NetSettings", net),
        *(_function(each, contested) for each in constructors),
    ]
    return "\n".join(parts)


def _own_fields(constructors: Iterable[Constructor]) -> Iterable[FieldDescriptor]:
    return (OF_EVERY_LAYER[each.field] for each in constructors if each.field is not None)


def _reachable(fields: Iterable[FieldDescriptor]) -> tuple[list[Descriptor], list[EnumDescriptor]]:
    """The messages and enums that settings consist of, by name."""
    messages: dict[str, Descriptor] = {}
    enums: dict[str, EnumDescriptor] = {}
    waiting = list(fields)
    while waiting:
        field = waiting.pop()
        if field.enum_type is not None:
            enums[_name(enum_of(field))] = enum_of(field)
        elif field.message_type is not None and field.message_type.full_name not in messages:
            messages[field.message_type.full_name] = field.message_type
            waiting += field.message_type.fields
    return [messages[name] for name in sorted(messages)], [enums[name] for name in sorted(enums)]


def _name(kind: Descriptor | EnumDescriptor) -> str:
    """The name that the generated code knows a message or an enum by, without its package."""
    return kind.full_name.removeprefix(f"{kind.file.package}.")


def _dict_name(message: Descriptor) -> str:
    return _name(message).replace(".", "") + "Dict"


def _enum_name(enum: EnumDescriptor) -> str:
    return _name(enum).replace(".", "") + "Name"


def _enum(enum: EnumDescriptor) -> str:
    names = ", ".join(f'"{value.name}"' for value in enum.values)
    return f"{_enum_name(enum)} = Literal[{names}] | pb.{_name(enum)}"


def _type(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        one = f"{_dict_name(field.message_type)} | pb.{_name(field.message_type)}"
    elif field.enum_type is not None:
        one = _enum_name(enum_of(field))
    elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        one = "bytes" if field.type == FieldDescriptor.TYPE_BYTES else "str"
    else:
        one = _SCALARS.get(field.cpp_type, "int")
    return f"{one} | Sequence[{one}]" if field.is_repeated else one


def _typed_dict(name: str, fields: Fields, base: str = "TypedDict") -> str:
    """A class, or where a field's name is a word of Python's own, the call that makes one."""
    if any(map(iskeyword, fields)):
        items = "".join(f'        "{key}": {_type(field)},\n' for key, field in fields.items())
        return f'{name} = TypedDict(\n    "{name}",\n    {{\n{items}    }},\n    total=False,\n)\n'
    lines = "".join(f"    {key}: {_type(field)}\n" for key, field in fields.items())
    return f"class {name}({base}, total=False):\n" + (lines or "    pass\n")


def _function(constructor: Constructor, contested: Fields) -> str:
    config = constructor.kind.config if constructor.kind is not None else None
    own: Fields = fields_of(config) if config is not None else {}
    settings = {name: field for name, field in own.items() if name in constructor.own and not iskeyword(name)}
    settings |= {name: field for name, field in contested.items() if name not in settings}
    keywords = [f"{name}: {_type(field)} = ...," for name, field in settings.items()]
    lines = [
        "name: str | None,",
        "bottoms: Sequence[str] | str = ...,",
        "*,",
        *keywords,
        "tops: Sequence[str] | str | None = ...,",
        "in_place: bool = ...,",
        "layer: AllLayerSettings | None = ...,",
        "**settings: Unpack[LayerSettings],",
    ]
    arguments = "".join(f"    {line}\n" for line in lines)
    doc = cleandoc(constructor.__doc__ or "").replace("\n", "\n    ").replace("\n    \n", "\n\n")
    end = "\n    " if "\n" in doc else ""
    return f'def {constructor.type}(\n{arguments}) -> pb.LayerParameter:\n    """{doc}{end}"""\n'


if __name__ == "__main__":
    STUB.write_text(stub())
