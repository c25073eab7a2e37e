"""Descriptors of messages, fields and enums, typed as the classes that protobuf documents."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from caffe_proto.wire import Buffer, value_in

NET_DIALECT = (
    536_870_908  # the `dialect` of a net, which binary files contain; fields from this number on aren't settings
)
IN_MEMORY = (536_870_909, 536_870_910)  # the `dialects` and the `location` of a layer, which no file contains
_LAYERS = ("LayerParameter", "V1LayerParameter", "V0LayerParameter")


def descriptor_of(message: Message | type[Message]) -> Descriptor:
    """Return the descriptor of a message. protobuf's stubs have two descriptor classes, and one of them is internal."""
    return cast("Descriptor", message.DESCRIPTOR)


def fields_of(message: Message | type[Message]) -> dict[str, FieldDescriptor]:
    """Return the fields of a message by name. Fields that only this package sets are left out."""
    return fields_by_name(descriptor_of(message))


@cache
def fields_by_name(descriptor: Descriptor) -> dict[str, FieldDescriptor]:
    """Return the fields of a message type by name. Fields that only this package sets are left out."""
    return {field.name: field for field in descriptor.fields if field.number < NET_DIALECT}


def set_fields(message: Message) -> list[tuple[FieldDescriptor, Any]]:
    """Return the fields that are set in a message, with their values. Fields that only this package sets are left
    out."""
    return [(field, value) for field, value in message.ListFields() if field.number < NET_DIALECT]


def layer_prefix(descriptor: Descriptor, data: Buffer, start: int, end: int) -> str:
    """Return the beginning of an error about an encoded message, such as "layer 'conv1': ".

    Returns "" if the message doesn't have a layer name.
    """
    name = value_in(data, descriptor.fields_by_name["name"].number, start, end) if descriptor.name in _LAYERS else b""
    return f"layer {name[:100].decode('utf-8', 'replace')!r}: " if name else ""


def enum_of(field: FieldDescriptor) -> EnumDescriptor:
    """Return the enum of an enum field."""
    return cast("EnumDescriptor", field.enum_type)
