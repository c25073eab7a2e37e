"""Assignment of Python values to the fields of messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from caffe_proto.descriptors import enum_of, fields_of
from netdsl.errors import NetError

_EXPECTED = {
    FieldDescriptor.CPPTYPE_INT32: "a whole number",
    FieldDescriptor.CPPTYPE_INT64: "a whole number",
    FieldDescriptor.CPPTYPE_UINT32: "a whole number of 0 or more",
    FieldDescriptor.CPPTYPE_UINT64: "a whole number of 0 or more",
    FieldDescriptor.CPPTYPE_FLOAT: "a number",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    FieldDescriptor.CPPTYPE_BOOL: "True or False",
    FieldDescriptor.CPPTYPE_STRING: "text",
}


def assign(message: Message, settings: Mapping[str, Any], what: str) -> None:
    """Set fields of a message by name: a dict sets a message, a list a repeated field, a name an enum's value."""
    fields = fields_of(message)
    for name, value in settings.items():
        if name not in fields:
            raise unknown_setting(name, fields, what)
        _assign(message, fields[name], value, f"{what}: {name}")


def unknown_setting(
    name: object, names: Iterable[str], what: str, other_names: Mapping[str, str] = MappingProxyType({})
) -> NetError:
    """The error for a setting that doesn't exist, with the closest existing one.

    `other_names` has what some settings are called elsewhere, and their names here.
    """
    meant = {known: known for known in names}
    meant |= {other: known for other, known in other_names.items() if known in meant}
    near = get_close_matches(str(name), meant, 1)
    return NetError(f"{what}: there is no setting '{name}'" + (f"; did you mean {meant[near[0]]}?" if near else ""))


def _assign(message: Message, field: FieldDescriptor, value: Any, what: str) -> None:
    many = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    if many and not field.is_repeated:
        raise NetError(f"{what} takes one value, not {len(value)}")
    for item in value if many else [value]:
        if field.message_type is not None:
            _assign_message(message, field, item, what)
        else:
            _assign_scalar(message, field, item, what)


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
    try:
        field_value = _enum_value(field, value) if field.enum_type is not None else value
        if field.is_repeated:
            getattr(message, field.name).append(field_value)
        else:
            setattr(message, field.name, field_value)
    except (TypeError, ValueError):
        raise NetError(f"{what} takes {_expected_value(field)}, not {value!r}{_suggestion(field, value)}") from None


def _enum_value(field: FieldDescriptor, value: Any) -> Any:
    values_by_name = enum_of(field).values_by_name
    if isinstance(value, str) and value not in values_by_name:
        raise ValueError(value)
    return values_by_name[value].number if isinstance(value, str) else value


def _expected_value(field: FieldDescriptor) -> str:
    return " or ".join(enum_of(field).values_by_name) if field.enum_type is not None else _EXPECTED[field.cpp_type]


def _suggestion(field: FieldDescriptor, value: Any) -> str:
    if field.enum_type is None or not isinstance(value, str):
        return ""
    near = get_close_matches(value.upper(), enum_of(field).values_by_name, 1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""
