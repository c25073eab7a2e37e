"""Reads protocol buffers' wire format: the offsets of an encoded message's fields, without decoding the values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from caffe_proto.errors import BinaryError

VARINT, FIXED64, LENGTH, GROUP, END_GROUP, FIXED32 = range(6)
MAX_DEPTH = 100  # protobuf's own limit; deeper input is an attack, not a net

Buffer = bytes | memoryview


class Field(NamedTuple):
    """One field of an encoded message, as offsets into its buffer."""

    number: int
    kind: int
    start: int  # the offset of the tag
    value: int  # the offset of the value, after its length if there is one
    end: int


def read_varint(data: Buffer, offset: int, end: int) -> tuple[int, int]:
    """Return the number that starts at an offset, and the offset after the number."""
    value = shift = 0
    while offset < end:
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, offset
        shift += 7
        if shift > 63:
            raise BinaryError(
                f"byte {offset}: a number is longer than ten bytes; the file is damaged, so download or copy it again"
            )
    raise BinaryError(
        f"byte {end}: the data ends in the middle of a number; the file is cut short or damaged, so download or copy "
        f"it again"
    )


def varint(value: int) -> bytes:
    """Return the encoding of a non-negative number."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def tag(number: int, kind: int) -> bytes:
    """Return the encoded tag of a field, which precedes its value."""
    return varint(number << 3 | kind)


def fields(data: Buffer, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """Yield the fields between two offsets, in their order."""
    end = len(data) if end is None else end
    offset = start
    while offset < end:
        field = _field_at(data, offset, end)
        yield field
        offset = field.end


def _field_at(data: Buffer, start: int, end: int) -> Field:
    """Return the field whose tag starts at `start`."""
    key, offset = data[start], start + 1
    if key > 0x7F:  # nearly all tags are one byte long, and a call for each tag would double the time
        key, offset = read_varint(data, start, end)
    number, kind = key >> 3, key & 7
    if number == 0 or number > 0x1FFF_FFFF:
        raise BinaryError(
            f"byte {start}: {number} isn't a field number; the file is damaged or isn't a Caffe file, so check its "
            "name or copy it again"
        )
    value = offset
    if kind == VARINT:
        offset = offset + 1 if offset < end and data[offset] <= 0x7F else read_varint(data, offset, end)[1]
    elif kind == LENGTH:
        length, value = (
            (data[offset], offset + 1) if offset < end and data[offset] <= 0x7F else read_varint(data, offset, end)
        )
        offset = value + length
    elif kind in (FIXED64, FIXED32):
        offset += 8 if kind == FIXED64 else 4
    elif kind == GROUP:
        offset = _group_end(data, offset, end, number)
    else:
        raise BinaryError(
            f"byte {start}: {kind} isn't a wire type; the file is damaged or isn't a Caffe file, so check its name "
            "or copy it again"
        )
    if offset > end:
        message = f"byte {start}: field {number} needs {offset - value:,} bytes, but {end - value:,} are left"
        raise BinaryError(f"{message}; the file is cut short or damaged, so download or copy it again")
    return Field(number, kind, start, value, offset)


def value_in(data: Buffer, number: int, start: int, end: int) -> bytes:
    """Return the first value of the field with a number.

    Returns b"" if the field is missing, or if the message is damaged before it.
    """
    try:
        for field in fields(data, start, end):
            if field.number == number:
                return bytes(data[field.value : field.end])
    except BinaryError:
        pass
    return b""


def _group_end(data: Buffer, offset: int, end: int, number: int) -> int:
    """Return the offset after a group. Groups are deprecated in protobuf and are only skipped."""
    open_groups = [number]
    while open_groups:
        if len(open_groups) > MAX_DEPTH:
            raise BinaryError(
                f"byte {offset}: groups are nested more than {MAX_DEPTH} deep; the file is damaged, so download or "
                f"copy it again"
            )
        key, after_key = read_varint(data, offset, end)
        if key & 7 == GROUP:
            open_groups.append(key >> 3)
            offset = after_key
        elif key & 7 == END_GROUP:
            if open_groups.pop() != key >> 3:
                raise BinaryError(
                    f"byte {offset}: a group ends that never started; the file is damaged, so download or copy it again"
                )
            offset = after_key
        else:
            offset = _field_at(data, offset, end).end
    return offset
