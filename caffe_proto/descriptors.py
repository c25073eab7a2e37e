"""Descriptors of messages, fields and enums, typed as the classes that protobuf documents."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from caffe_proto.wire import Buffer, value_in

LOCATION = 536_870_910  # the `location` of a layer; from this number on, fields exist in memory only
_LAYERS = ("LayerParameter", "V1LayerParameter", "V0LayerParameter")


def descriptor_of(message: Message | type[Message]) -> Descriptor:
    """The descriptor of a message; protobuf's stubs know two classes of them, of which one is internal."""
    return cast("Descriptor", message.DESCRIPTOR)


def fields_of(message: Message | type[Message]) -> dict[str, FieldDescriptor]:
    """The fields of a message by name, without those that exist in memory only."""
    return fields_by_name(descriptor_of(message))


@cache
def fields_by_name(descriptor: Descriptor) -> dict[str, FieldDescriptor]:
    """The same of a message type that has a descriptor only."""
    return {field.name: field for field in descriptor.fields if field.number < LOCATION}


def set_fields(message: Message) -> list[tuple[FieldDescriptor, Any]]:
    """The fields that are set in a message with their values, without those that exist in memory only."""
    return [(field, value) for field, value in message.ListFields() if field.number < LOCATION]


def layer_prefix(descriptor: Descriptor, data: Buffer, start: int, end: int) -> str:
    """The beginning of an error about an encoded message: "layer 'conv1': ", or "" if it has no layer name."""
    name = value_in(data, descriptor.fields_by_name["name"].number, start, end) if descriptor.name in _LAYERS else b""
    return f"layer {name[:100].decode('utf-8', 'replace')!r}: " if name else ""


def enum_of(field: FieldDescriptor) -> EnumDescriptor:
    """The enum that an enum field takes its values from."""
    return cast("EnumDescriptor", field.enum_type)
