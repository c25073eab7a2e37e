"""Which fork wrote a binary file: all dialects read the doubtful fields, the least absurd reading wins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from caffe_proto.descriptors import enum_of
from caffe_proto.dialects import BVLC, STORED, Dialect, all_dialects
from caffe_proto.errors import BinaryError
from caffe_proto.wire import FIXED32, FIXED64, LENGTH, MAX_DEPTH, VARINT, Field, fields, read_varint, value_in

# How absurd a reading is. An explicit default is the faintest of hints: writers rarely spell one out, and rather
# `true` than a name. A rare dialect is a little absurd in itself, by its rank.
_IMPOSSIBLE, _OUT_OF_RANGE, _UNKNOWN, _NOT_ITS_LAYER, _DEFAULT_NAME, _DEFAULT, _ITS_LAYER = 30, 20, 10, 3, 2, 1, -5
_RARE = 0.1

_ENOUGH = 1 << 14  # bytes of doubts to judge by; no net needs more, and every dialect reads them

_SIZES = {FIXED32: 4, FIXED64: 8}

_TYPED = ("LayerParameter", "V1LayerParameter")

_WIRE_KINDS = {
    FieldDescriptor.CPPTYPE_FLOAT: FIXED32,
    FieldDescriptor.CPPTYPE_DOUBLE: FIXED64,
    FieldDescriptor.CPPTYPE_STRING: LENGTH,
    FieldDescriptor.CPPTYPE_MESSAGE: LENGTH,
}


class Doubt(NamedTuple):
    """A field that not all dialects understand alike."""

    message: Descriptor
    encoded: bytes
    layer: bytes  # the type of the layer that it is in


def guess(skeleton: bytes, descriptor: Descriptor) -> Dialect:
    """The dialect of a message; BVLC's where nothing speaks against it."""
    doubts: set[Doubt] = set()
    size = 0
    for doubt in _doubts(skeleton, 0, len(skeleton), descriptor, b"", 0):
        if doubt not in doubts and size + len(doubt.encoded) <= _ENOUGH:
            doubts.add(doubt)
            size += len(doubt.encoded)
    if not doubts:
        return BVLC
    return min(
        all_dialects().values(), key=lambda each: sum(_of_doubt(each, one) for one in doubts) + each.rank * _RARE
    )


def _doubts(data: bytes, at: int, end: int, descriptor: Descriptor, layer: bytes, depth: int) -> Iterator[Doubt]:
    if depth > MAX_DEPTH:
        raise BinaryError(f"messages are nested more than {MAX_DEPTH} deep; the file is damaged")
    agreed = _agreed(descriptor)
    if descriptor.name in _TYPED:
        layer = value_in(data, descriptor.fields_by_name["type"].number, at, end)
    for part in fields(data, at, end):
        if part.number not in agreed:
            yield Doubt(descriptor, data[part.start : part.end], layer)
            continue
        below = agreed[part.number]
        if below is not None and part.kind == LENGTH:
            yield from _doubts(data, part.value, part.end, below, layer, depth + 1)


@cache
def _agreed(descriptor: Descriptor) -> Mapping[int, Descriptor | None]:
    """The fields that all dialects understand alike, with the messages below them."""
    name = descriptor.full_name.partition(".")[2]
    contested = {number for each in all_dialects().values() for number in each.numbers.get(name, {}).values()}
    plain = {number: each.message_type for number, each in BVLC.table(descriptor).items() if number not in contested}
    return {**plain, STORED: None}


def _of_doubt(dialect: Dialect, doubt: Doubt) -> int:
    part, descriptor = next(fields(doubt.encoded)), doubt.message
    cost = _of_field(dialect, doubt.encoded, part, descriptor, 0)
    known = dialect.table(descriptor).get(part.number)
    if known is None or descriptor.name not in _TYPED or known.message_type is None:
        return cost
    return cost + (_ITS_LAYER if _belongs(known.name, _type_name(dialect, doubt)) else _NOT_ITS_LAYER)


def _type_name(dialect: Dialect, doubt: Doubt) -> str:
    kind = doubt.message.fields_by_name["type"].enum_type
    if kind is None or not doubt.layer:
        return doubt.layer.decode("utf-8", "replace")
    number, _ = read_varint(doubt.layer, 0, len(doubt.layer))
    names = {each.number: each.name for each in kind.values}
    return (names | {number: name for name, number in dialect.values(kind).items()}).get(number, "")


def _belongs(field: str, layer: str) -> bool:
    """Whether settings of that name are those of a layer of that type: roi_pooling_param of ROIPooling."""
    stem, kind = field.removesuffix("_param").replace("_", ""), layer.lower().replace("_", "")
    return bool(kind) and (stem in kind or kind in stem)


def _of_field(dialect: Dialect, data: bytes, part: Field, descriptor: Descriptor, depth: int) -> int:
    known = dialect.table(descriptor).get(part.number)
    if known is None:
        return _UNKNOWN
    kind = _WIRE_KINDS.get(known.cpp_type, VARINT)
    if part.kind != kind:
        return _of_packed(known, data[part.value : part.end], kind) if part.kind == LENGTH else _IMPOSSIBLE
    if known.message_type is not None:
        return _of_message(dialect, data[part.value : part.end], known.message_type, depth)
    return _of_scalar(dialect, data, part, known)


def _of_packed(known: FieldDescriptor, data: bytes, kind: int) -> int:
    """Several numbers in one piece, which parsers take for any repeated field, and writers make where it is said so."""
    size = _SIZES.get(kind, 1)
    if not known.is_repeated or len(data) % size:
        return _IMPOSSIBLE
    return 0 if known.GetOptions().packed else _UNKNOWN


def _of_message(dialect: Dialect, data: bytes, descriptor: Descriptor, depth: int) -> int:
    try:
        found = list(fields(data))
    except BinaryError:
        return _IMPOSSIBLE
    if depth > MAX_DEPTH:
        return _IMPOSSIBLE
    table, numbers = dialect.table(descriptor), {part.number for part in found}
    missing = sum(each.is_required and number not in numbers for number, each in table.items())
    return missing * _IMPOSSIBLE + sum(_of_field(dialect, data, part, descriptor, depth + 1) for part in found)


def _of_scalar(dialect: Dialect, data: bytes, part: Field, known: FieldDescriptor) -> int:
    if part.kind == LENGTH:
        text = data[part.value : part.end].decode("utf-8", "replace") if known.type == known.TYPE_STRING else ""
        return _OUT_OF_RANGE if "\ufffd" in text else 0
    if part.kind != VARINT:
        return 0
    value, _ = read_varint(data, part.value, part.end)
    if known.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        if value not in enum_of(known).values_by_number:
            return _OUT_OF_RANGE
    elif value > (1 if known.cpp_type == FieldDescriptor.CPPTYPE_BOOL else 2**32) and value < 2**63:
        return _OUT_OF_RANGE
    if not known.has_default_value or known.is_repeated or value != known.default_value:
        return 0
    return _DEFAULT if known.enum_type is None else _DEFAULT_NAME
