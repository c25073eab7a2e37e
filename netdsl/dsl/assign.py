"""Python values put into messages: what a keyword argument means for a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from caffe_proto.descriptors import enum_of, fields_of
from netdsl.errors import NetError


def assign(message: Message, settings: Mapping[str, Any], what: str) -> None:
    """Set fields by name. A dict stands for a message, a list for a repeated field, a name for an enum's value."""
    fields = fields_of(message)
    for name, value in settings.items():
        field = fields.get(name)
        if field is None:
            near = get_close_matches(name, fields, 1)
            raise NetError(f"{what} has no setting '{name}'" + (f"; did you mean {near[0]}?" if near else ""))
        _assign(message, field, value, f"{what}, {name}")


def _assign(message: Message, field: FieldDescriptor, value: Any, what: str) -> None:
    many = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    if many and not field.is_repeated:
        raise NetError(f"{what} takes one value, not {len(value)}")
    for each in value if many else [value]:
        if field.message_type is not None:
            _assign_message(message, field, each, what)
        else:
            _assign_scalar(message, field, each, what)


def _assign_message(message: Message, field: FieldDescriptor, value: Any, what: str) -> None:
    target = getattr(message, field.name)
    if field.is_repeated:
        target = target.add()
    target.SetInParent()
    if isinstance(value, Mapping):
        assign(target, value, what)
    elif isinstance(value, Message) and value.DESCRIPTOR is target.DESCRIPTOR:
        target.CopyFrom(value)
    else:
        raise NetError(f"{what} takes a dict of settings, not {value!r}")


def _assign_scalar(message: Message, field: FieldDescriptor, value: Any, what: str) -> None:
    if field.enum_type is not None and isinstance(value, str):
        names = enum_of(field).values_by_name
        if value not in names:
            near = get_close_matches(value.upper(), names, 1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(names)}"
            raise NetError(f"{what}: unknown value '{value}'; {hint}")
        value = names[value].number
    try:
        if field.is_repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)
    except (TypeError, ValueError) as problem:
        raise NetError(f"{what}: {problem}") from None
