"""Which fork wrote a binary file: all dialects read the doubtful fields, the least absurd reading wins."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from caffe_proto.descriptors import enum_of
from caffe_proto.dialects import BVLC, STORED, Dialect, all_dialects
from caffe_proto.errors import BinaryError
from caffe_proto.wire import FIXED32, FIXED64, LENGTH, MAX_DEPTH, VARINT, Field, fields, read_varint

# How absurd a reading is. An explicit default is the faintest of hints: writers rarely spell one out.
_IMPOSSIBLE, _OUT_OF_RANGE, _UNKNOWN, _NOT_ITS_LAYER, _DEFAULT, _ITS_LAYER = 30, 20, 10, 3, 1, -5

_WIRE_KINDS = {
    FieldDescriptor.CPPTYPE_FLOAT: FIXED32,
    FieldDescriptor.CPPTYPE_DOUBLE: FIXED64,
    FieldDescriptor.CPPTYPE_STRING: LENGTH,
    FieldDescriptor.CPPTYPE_MESSAGE: LENGTH,
}


class Doubt(NamedTuple):
    """A field that not all dialects understand alike."""

    message: str
    number: int
    encoded: bytes
    layer: str  # the type of the layer that it is in


def guess(skeleton: bytes, descriptor: Descriptor) -> Dialect:
    """The dialect of a message; BVLC's where nothing speaks against it."""
    doubts: dict[Doubt, Descriptor] = {}
    _collect(skeleton, descriptor, "", doubts, 0)
    if not doubts:
        return BVLC
    return min(all_dialects().values(), key=lambda each: (_absurdity(each, doubts), each.rank))


def _collect(data: bytes, descriptor: Descriptor, layer: str, doubts: dict[Doubt, Descriptor], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BinaryError(f"messages are nested more than {MAX_DEPTH} deep; the file is damaged")
    plain, contested = BVLC.table(descriptor), _contested(descriptor.full_name.partition(".")[2])
    found = list(fields(data))
    if descriptor.name == "LayerParameter":
        layer = next((_text(data, part) for part in found if part.number == 2 and part.kind == LENGTH), "")
    for part in found:
        known = plain.get(part.number)
        if (known is None or part.number in contested) and part.number != STORED:
            doubt = Doubt(descriptor.full_name, part.number, data[part.start : part.end], layer)
            doubts.setdefault(doubt, descriptor)
        elif known is not None and known.message_type is not None and part.kind == LENGTH:
            _collect(data[part.value : part.end], known.message_type, layer, doubts, depth + 1)


@cache
def _contested(message: str) -> frozenset[int]:
    return frozenset(number for each in all_dialects().values() for number in each.numbers.get(message, {}).values())


def _text(data: bytes, part: Field) -> str:
    return data[part.value : part.end].decode("utf-8", "replace")


def _absurdity(dialect: Dialect, doubts: dict[Doubt, Descriptor]) -> int:
    return sum(_of_doubt(dialect, doubt, descriptor) for doubt, descriptor in doubts.items())


def _of_doubt(dialect: Dialect, doubt: Doubt, descriptor: Descriptor) -> int:
    part = next(fields(doubt.encoded))
    cost = _of_field(dialect, doubt.encoded, part, descriptor, 0)
    known = dialect.table(descriptor).get(part.number)
    if known is None or descriptor.name != "LayerParameter" or known.message_type is None:
        return cost
    return cost + (_ITS_LAYER if _belongs(known.name, doubt.layer) else _NOT_ITS_LAYER)


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
        return 0 if known.is_repeated and part.kind == LENGTH and kind != LENGTH else _IMPOSSIBLE
    if known.message_type is not None:
        return _of_message(dialect, data[part.value : part.end], known.message_type, depth)
    return _of_scalar(dialect, data, part, known)


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
        return _OUT_OF_RANGE if "\ufffd" in _text(data, part) and known.type == FieldDescriptor.TYPE_STRING else 0
    if part.kind != VARINT:
        return 0
    value, _ = read_varint(data, part.value, part.end)
    if known.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        renumbered = dialect.values(known.enum_type)
        if value not in (renumbered.get(each.name, each.number) for each in enum_of(known).values):
            return _OUT_OF_RANGE
    elif value > (1 if known.cpp_type == FieldDescriptor.CPPTYPE_BOOL else 2**32) and value < 2**63:
        return _OUT_OF_RANGE
    spelled_out = known.has_default_value and not known.is_repeated and value == known.default_value
    return _DEFAULT if spelled_out else 0
