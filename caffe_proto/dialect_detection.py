"""Detects the fork that wrote a binary file: the dialect that reads it with the fewest oddities.

The dialects disagree about some fields. Every dialect reads these fields, and each oddity, such as an impossible wire
type or an unknown field, costs points. The cheapest reading wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from caffe_proto.descriptors import enum_of
from caffe_proto.dialects import BVLC, STORED, Dialect, all_dialects, of_dialects, schema_name
from caffe_proto.errors import BinaryError, DialectError
from caffe_proto.wire import FIXED32, FIXED64, LENGTH, MAX_DEPTH, VARINT, Field, fields, read_varint, value_in

# The costs. An explicit default is only a faint hint: writers rarely write one, and `true` is more likely than an enum
# name.
_IMPOSSIBLE, _OUT_OF_RANGE, _UNKNOWN, _OTHER_LAYER, _DEFAULT_NAME, _DEFAULT, _SAME_LAYER = 30, 20, 10, 3, 2, 1, -5
_COST_PER_RANK = 0.1

_MAX_BYTES = 1 << 14  # the ambiguous fields that are read; every dialect reads them all, and no net needs more

_SIZES = {FIXED32: 4, FIXED64: 8}

_LAYER_MESSAGES = ("LayerParameter", "V1LayerParameter")

_WIRE_KINDS = {
    FieldDescriptor.CPPTYPE_FLOAT: FIXED32,
    FieldDescriptor.CPPTYPE_DOUBLE: FIXED64,
    FieldDescriptor.CPPTYPE_STRING: LENGTH,
    FieldDescriptor.CPPTYPE_MESSAGE: LENGTH,
}


class _AmbiguousField(NamedTuple):
    """A field that the dialects read differently."""

    message: Descriptor
    encoded: bytes
    layer: bytes  # the encoded type of the layer that has the field


def detect_dialect(skeleton: bytes, descriptor: Descriptor) -> Dialect:
    """Return the dialect of an encoded message, or BVLC's if all dialects read it alike."""
    ambiguous: set[_AmbiguousField] = set()
    size = 0
    for field in _ambiguous_fields(skeleton, 0, len(skeleton), descriptor, b"", 0):
        if field not in ambiguous and size + len(field.encoded) <= _MAX_BYTES:
            ambiguous.add(field)
            size += len(field.encoded)
    if not ambiguous:
        return BVLC
    return min(
        all_dialects().values(),
        key=lambda dialect: sum(_cost(dialect, field) for field in ambiguous) + dialect.rank * _COST_PER_RANK,
    )


def with_numbers_of(skeleton: bytes, descriptor: Descriptor, dialect: Dialect) -> Dialect:
    """Return the dialect with BVLC's numbers for the fields that the message stores under them.

    A fork that renumbered such a field didn't write it, and other programs read it only under BVLC's number.
    """
    used = set(_renumbered_fields(skeleton, descriptor, dialect))
    kept = {(message, name) for message, name, is_bvlc in used if is_bvlc}
    for message, name, is_bvlc in sorted(used):
        if not is_bvlc and (message, name) in kept:
            raise DialectError(
                f"{message} stores '{name}' under both BVLC's number and that of dialect '{dialect.name}', so "
                "the net can't be written unchanged; choose a dialect, as in --dialect bvlc, or write a "
                ".prototxt"
            )
    numbers = {
        message: {name: number for name, number in names.items() if (message, name) not in kept}
        for message, names in dialect.numbers.items()
    }
    return replace(dialect, numbers=numbers, _tables={}, _touched={}) if kept else dialect


def _renumbered_fields(data: bytes, descriptor: Descriptor, dialect: Dialect) -> Iterator[tuple[str, str, bool]]:
    """Yield the message and name of each field that the dialect renumbered, and whether it is stored under BVLC's
    number."""
    message, table = schema_name(descriptor), dialect.table(descriptor)
    for field in fields(data):
        schema_field = table.get(field.number)
        if schema_field is None:
            continue
        if dialect.number(descriptor, schema_field.name) != schema_field.number:
            yield message, schema_field.name, field.number == schema_field.number
        submessage = schema_field.message_type
        if submessage is not None and field.kind == LENGTH and dialect.touches(submessage):
            yield from _renumbered_fields(data[field.value : field.end], submessage, dialect)


def _ambiguous_fields(
    data: bytes, at: int, end: int, descriptor: Descriptor, layer: bytes, depth: int
) -> Iterator[_AmbiguousField]:
    if depth > MAX_DEPTH:
        raise BinaryError(
            f"messages are nested more than {MAX_DEPTH} deep; the file is damaged, so download or copy it again"
        )
    unambiguous = _unambiguous_fields(descriptor)
    if descriptor.name in _LAYER_MESSAGES:
        layer = value_in(data, descriptor.fields_by_name["type"].number, at, end)
    for field in fields(data, at, end):
        if field.number not in unambiguous:
            yield _AmbiguousField(descriptor, data[field.start : field.end], layer)
            continue
        submessage = unambiguous[field.number]
        if submessage is not None and field.kind == LENGTH:
            yield from _ambiguous_fields(data, field.value, field.end, submessage, layer, depth + 1)


@of_dialects
def _unambiguous_fields(descriptor: Descriptor) -> Mapping[int, Descriptor | None]:
    """Return the numbers of the fields that all dialects read alike, with the types of those that are messages."""
    name = descriptor.full_name.partition(".")[2]
    contested = {number for dialect in all_dialects().values() for number in dialect.numbers.get(name, {}).values()}
    unambiguous = {
        number: dialect.message_type for number, dialect in BVLC.table(descriptor).items() if number not in contested
    }
    return {**unambiguous, STORED: None}


def _cost(dialect: Dialect, ambiguous: _AmbiguousField) -> int:
    field, descriptor = next(fields(ambiguous.encoded)), ambiguous.message
    cost = _field_cost(dialect, ambiguous.encoded, field, descriptor, 0)
    schema_field = dialect.table(descriptor).get(field.number)
    if schema_field is None or descriptor.name not in _LAYER_MESSAGES or schema_field.message_type is None:
        return cost
    return cost + (_SAME_LAYER if _is_setting_of(schema_field.name, _type_name(dialect, ambiguous)) else _OTHER_LAYER)


def _type_name(dialect: Dialect, ambiguous: _AmbiguousField) -> str:
    kind = ambiguous.message.fields_by_name["type"].enum_type
    if kind is None or not ambiguous.layer:
        return ambiguous.layer.decode("utf-8", "replace")
    number, _ = read_varint(ambiguous.layer, 0, len(ambiguous.layer))
    names = {value.number: value.name for value in kind.values}
    return (names | {number: name for name, number in dialect.values(kind).items()}).get(number, "")


def _is_setting_of(field: str, layer: str) -> bool:
    """Return whether a settings field is named after a layer type, as roi_pooling_param is after ROIPooling."""
    stem, kind = field.removesuffix("_param").replace("_", ""), layer.lower().replace("_", "")
    return bool(kind) and (stem in kind or kind in stem)


def _field_cost(dialect: Dialect, data: bytes, field: Field, descriptor: Descriptor, depth: int) -> int:
    schema_field = dialect.table(descriptor).get(field.number)
    if schema_field is None:
        return _UNKNOWN
    kind = _WIRE_KINDS.get(schema_field.cpp_type, VARINT)
    if field.kind != kind:
        return _packed_cost(schema_field, data[field.value : field.end], kind) if field.kind == LENGTH else _IMPOSSIBLE
    if schema_field.message_type is not None:
        return _message_cost(dialect, data[field.value : field.end], schema_field.message_type, depth)
    return _scalar_cost(dialect, data, field, schema_field)


def _packed_cost(schema_field: FieldDescriptor, data: bytes, kind: int) -> int:
    """Return the cost of a packed field.

    Parsers accept packed values in any repeated field, but writers pack only fields that are declared as packed.
    """
    size = _SIZES.get(kind, 1)
    if not schema_field.is_repeated or len(data) % size:
        return _IMPOSSIBLE
    return 0 if schema_field.GetOptions().packed else _UNKNOWN


def _message_cost(dialect: Dialect, data: bytes, descriptor: Descriptor, depth: int) -> int:
    try:
        parts = list(fields(data))
    except BinaryError:
        return _IMPOSSIBLE
    if depth > MAX_DEPTH:
        return _IMPOSSIBLE
    table, numbers = dialect.table(descriptor), {part.number for part in parts}
    missing = sum(field.is_required and number not in numbers for number, field in table.items())
    return missing * _IMPOSSIBLE + sum(_field_cost(dialect, data, part, descriptor, depth + 1) for part in parts)


def _scalar_cost(dialect: Dialect, data: bytes, field: Field, schema_field: FieldDescriptor) -> int:
    if field.kind == LENGTH:
        text = (
            data[field.value : field.end].decode("utf-8", "replace")
            if schema_field.type == schema_field.TYPE_STRING
            else ""
        )
        return _OUT_OF_RANGE if "\ufffd" in text else 0
    if field.kind != VARINT:
        return 0
    value, _ = read_varint(data, field.value, field.end)
    if schema_field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        if value not in enum_of(schema_field).values_by_number:
            return _OUT_OF_RANGE
    elif value > (1 if schema_field.cpp_type == FieldDescriptor.CPPTYPE_BOOL else 2**32) and value < 2**63:
        return _OUT_OF_RANGE
    if not schema_field.has_default_value or schema_field.is_repeated or value != schema_field.default_value:
        return 0
    return _DEFAULT if schema_field.enum_type is None else _DEFAULT_NAME
