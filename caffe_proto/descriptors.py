"""What a message type consists of, under the one type that protobuf documents."""

from __future__ import annotations

from typing import cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message


def descriptor_of(message: Message | type[Message]) -> Descriptor:
    """The descriptor of a message; protobuf's stubs know two classes of them, of which one is internal."""
    return cast("Descriptor", message.DESCRIPTOR)


def fields_of(message: Message | type[Message]) -> dict[str, FieldDescriptor]:
    """The fields of a message by name."""
    return cast("dict[str, FieldDescriptor]", message.DESCRIPTOR.fields_by_name)


def enum_of(field: FieldDescriptor) -> EnumDescriptor:
    """The enum that an enum field takes its values from."""
    return cast("EnumDescriptor", field.enum_type)
