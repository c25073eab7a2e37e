"""The generator of `layer_types.py` and `layer_types.pyi`.

`layer_types.py` has a constructor for each layer type and doesn't import the types' classes. `layer_types.pyi` declares
their settings for editors and type checkers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import cleandoc
from keyword import iskeyword
from pathlib import Path

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import descriptor_of, enum_of, fields_by_name, fields_of
from netdsl.dsl.constructors import COMMON_FIELDS, STRUCTURE, Constructor, LayerFacts
from netdsl.layers import LAYERS

MODULE = Path(__file__).with_name("layer_types.py")
STUB = MODULE.with_suffix(".pyi")
_MODULE_HEAD = '''# ruff: noqa
# fmt: off
"""A constructor for each of netdsl's own layer types, under its name. Written by `make stubs`."""

from caffe_proto import caffe_pb2 as pb
from netdsl.dsl.constructors import Constructor, LayerFacts

'''
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
_EXCLUDED_NET_FIELDS = {
    "name",
    "layer",
    "layers",
    "input",
    "input_shape",
    "input_dim",
}  # set by other arguments, or deprecated

Fields = Mapping[str, FieldDescriptor]


def module() -> str:
    """Return the text of the module with the constructors."""
    facts = {name: LayerFacts.of(layer_class) for name, layer_class in sorted(LAYERS.own().items())}
    lines = [f'{name} = Constructor("{name}", {_facts(each)})\n' for name, each in facts.items()]
    names = "".join(f'    "{name}",\n' for name in facts)
    return f"{_MODULE_HEAD}__all__ = [\n{names}]\n\n{''.join(lines)}"


def _facts(facts: LayerFacts) -> str:
    config = [] if facts.config is None else [f"pb.{_name(descriptor_of(facts.config))}"]
    return f"LayerFacts({', '.join([repr(facts.doc), *config, *([] if facts.has_tops else ['has_tops=False'])])})"


def stub() -> str:
    """Return the text of the stub."""
    constructors = [Constructor(name, layer_class) for name, layer_class in sorted(LAYERS.own().items())]
    common = {name: field for name, field in COMMON_FIELDS.items() if name not in STRUCTURE | {"blobs"}}
    contested = {
        name: field
        for name, field in common.items()
        if any(name in constructor.type_settings for constructor in constructors)
    }
    net = {name: field for name, field in fields_of(pb.NetParameter).items() if name not in _EXCLUDED_NET_FIELDS}
    messages, enums = _reachable([*common.values(), *net.values(), *_settings_fields(constructors)])
    parts = [
        _HEAD,
        "__all__ = [\n" + "".join(f'    "{constructor.type}",\n' for constructor in constructors) + "]\n",
        *(_enum(enum) for enum in enums),
        "",
        *(_typed_dict(_dict_name(message), fields_by_name(message)) for message in messages),
        _typed_dict("LayerSettings", {name: common[name] for name in common if name not in contested}),
        _typed_dict("AllLayerSettings", contested, "LayerSettings"),
        _typed_dict("NetSettings", net),
        *(_function(constructor, contested) for constructor in constructors),
    ]
    return "\n".join(parts)


def _settings_fields(constructors: Iterable[Constructor]) -> Iterable[FieldDescriptor]:
    return (COMMON_FIELDS[constructor.field] for constructor in constructors if constructor.field is not None)


def _reachable(fields: Iterable[FieldDescriptor]) -> tuple[list[Descriptor], list[EnumDescriptor]]:
    """Return the messages and enums that the fields contain, sorted by name."""
    messages: dict[str, Descriptor] = {}
    enums: dict[str, EnumDescriptor] = {}
    pending = list(fields)
    while pending:
        field = pending.pop()
        if field.enum_type is not None:
            enums[_name(enum_of(field))] = enum_of(field)
        elif field.message_type is not None and field.message_type.full_name not in messages:
            messages[field.message_type.full_name] = field.message_type
            pending += field.message_type.fields
    return [messages[name] for name in sorted(messages)], [enums[name] for name in sorted(enums)]


def _name(kind: Descriptor | EnumDescriptor) -> str:
    """Return the name of a message or an enum in the generated code, without its package."""
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
        item = f"{_dict_name(field.message_type)} | pb.{_name(field.message_type)}"
    elif field.enum_type is not None:
        item = _enum_name(enum_of(field))
    elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        item = "bytes" if field.type == FieldDescriptor.TYPE_BYTES else "str"
    else:
        item = _SCALARS.get(field.cpp_type, "int")
    return f"{item} | Sequence[{item}] | None" if field.is_repeated else f"{item} | None"


def _typed_dict(name: str, fields: Fields, base: str = "TypedDict") -> str:
    """Return the declaration of a TypedDict: a class, or a call if the name of a field is a Python keyword."""
    if any(map(iskeyword, fields)):
        items = "".join(f'        "{key}": {_type(field)},\n' for key, field in fields.items())
        return f'{name} = TypedDict(\n    "{name}",\n    {{\n{items}    }},\n    total=False,\n)\n'
    lines = "".join(f"    {key}: {_type(field)}\n" for key, field in fields.items())
    return f"class {name}({base}, total=False):\n" + (lines or "    pass\n")


def _function(constructor: Constructor, contested: Fields) -> str:
    fields: Fields = fields_of(constructor.config) if constructor.config is not None else {}
    settings = {
        name: field for name, field in fields.items() if name in constructor.type_settings and not iskeyword(name)
    }
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
    MODULE.write_text(module())
    STUB.write_text(stub())
