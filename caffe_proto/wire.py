"""Protocol buffers' wire format: where the fields of an encoded message lie, without decoding what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from caffe_proto.errors import BinaryError

VARINT, FIXED64, LENGTH, GROUP, END_GROUP, FIXED32 = range(6)
MAX_DEPTH = 100  # protobuf's own limit; deeper input is an attack, not a net

Buffer = bytes | memoryview


class Field(NamedTuple):
    """One field of an encoded message, as offsets into the buffer that it was found in."""

    number: int
    kind: int
    start: int  # of the tag
    value: int  # of the value, behind a length if there is one
    end: int


def read_varint(data: Buffer, at: int, end: int) -> tuple[int, int]:
    """The number that starts at `at`, and the offset behind it."""
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift > 63:
            raise BinaryError(f"byte {at}: a number runs on for more than ten bytes; the file is damaged")
    raise BinaryError(f"byte {end}: the data ends in the middle of a number; the file is cut short or damaged")


def varint(value: int) -> bytes:
    """A non-negative number as the wire has it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number: int, kind: int) -> bytes:
    """What stands before a field's value."""
    return varint(number << 3 | kind)


def fields(data: Buffer, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields between two offsets, in the order of the file."""
    end = len(data) if end is None else end
    at = start
    while at < end:
        field = field_at(data, at, end)
        yield field
        at = field.end


def field_at(data: Buffer, start: int, end: int) -> Field:
    """The field whose tag starts at `start`."""
    key, at = data[start], start + 1
    if key > 0x7F:  # asked here because nearly all fit one byte, and a call for each would double the time
        key, at = read_varint(data, start, end)
    number, kind = key >> 3, key & 7
    if number == 0 or number > 0x1FFF_FFFF:
        raise BinaryError(f"byte {start}: {number} is not a field number; the file is damaged or not a Caffe file")
    value = at
    if kind == VARINT:
        at = at + 1 if at < end and data[at] <= 0x7F else read_varint(data, at, end)[1]
    elif kind == LENGTH:
        length, value = (data[at], at + 1) if at < end and data[at] <= 0x7F else read_varint(data, at, end)
        at = value + length
    elif kind in (FIXED64, FIXED32):
        at += 8 if kind == FIXED64 else 4
    elif kind == GROUP:
        at = _group_end(data, at, end, number)
    else:
        raise BinaryError(f"byte {start}: {kind} is not a kind of value; the file is damaged or not a Caffe file")
    if at > end:
        message = f"byte {start}: field {number} needs {at - value:,} bytes, {end - value:,} are left"
        raise BinaryError(f"{message}; the file is cut short or damaged")
    return Field(number, kind, start, value, at)


def value_in(data: Buffer, number: int, start: int, end: int) -> bytes:
    """The first value that a message has under a number, or b"" if it has none or is damaged before that."""
    try:
        for field in fields(data, start, end):
            if field.number == number:
                return bytes(data[field.value : field.end])
    except BinaryError:
        pass
    return b""


def _group_end(data: Buffer, at: int, end: int, number: int) -> int:
    """The offset behind a group, a relic of protobuf that is only ever skipped."""
    open_groups = [number]
    while open_groups:
        if len(open_groups) > MAX_DEPTH:
            raise BinaryError(f"byte {at}: groups are nested more than {MAX_DEPTH} deep; the file is damaged")
        key, behind = read_varint(data, at, end)
        if key & 7 == GROUP:
            open_groups.append(key >> 3)
            at = behind
        elif key & 7 == END_GROUP:
            if open_groups.pop() != key >> 3:
                raise BinaryError(f"byte {at}: a group ends that never began; the file is damaged")
            at = behind
        else:
            at = field_at(data, at, end).end
    return at
