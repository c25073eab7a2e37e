"""Reads and writes binary messages whose blob values stay in the file.

The values are cut out before parsing and put back while writing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import TypeVar

import numpy as np
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import GRADIENTS, VALUES, Array, Blob, BlobPart, Blobs
from caffe_proto.descriptors import descriptor_of, layer_prefix
from caffe_proto.errors import BinaryError, LimitError
from caffe_proto.limits import Limit
from caffe_proto.wire import (
    FIXED32,
    FIXED64,
    LENGTH,
    MAX_DEPTH,
    VARINT,
    Buffer,
    Field,
    fields,
    read_varint,
    tag,
    varint,
)

_BLOB = descriptor_of(pb.BlobProto)
_STORED = _BLOB.fields_by_name["stored"].number
_VALUE_TYPES = {**VALUES, **GRADIENTS}
_FIXED_KINDS = {4: FIXED32, 8: FIXED64}  # the wire type of a single value, by its size

M = TypeVar("M", bound=Message)


def cut(data: Buffer, descriptor: Descriptor, blobs: Blobs) -> bytes:
    """Return the encoded message without the values of its blobs.

    The values are added to `blobs` as views on `data`.
    """
    if descriptor is _BLOB:
        return _cut_blob(data, 0, len(data), blobs)
    return b"".join(_cut(data, 0, len(data), descriptor, blobs, 0))


def parse(skeleton: bytes, message: type[M]) -> M:
    """Return the message that an encoded message from `cut` stands for."""
    try:
        return message.FromString(skeleton)
    except DecodeError:
        raise BinaryError(
            f"not a valid {message.DESCRIPTOR.name}; the file is damaged or isn't a Caffe file, so check its name or "
            "copy it again"
        ) from None


def join(skeleton: bytes, descriptor: Descriptor, blobs: Blobs) -> Iterator[Buffer]:
    """Return the pieces of an encoded message with its blobs, in the order to write them. This is the inverse of
    `cut`."""
    if descriptor is _BLOB:
        return iter(_join_blob(skeleton, blobs)[1])
    return iter(_join(skeleton, descriptor, blobs)[1])


@cache
def _blob_fields(descriptor: Descriptor) -> dict[int, Descriptor]:
    """Return the type of each field that is a blob or contains blobs, by field number."""
    return {
        field.number: field.message_type
        for field in descriptor.fields
        if field.message_type is not None and _contains_blob(field.message_type, frozenset())
    }


def _contains_blob(descriptor: Descriptor, seen: frozenset[str]) -> bool:
    if descriptor is _BLOB:
        return True
    if descriptor.full_name in seen:
        return False
    seen_here = seen | {descriptor.full_name}
    return any(field.message_type and _contains_blob(field.message_type, seen_here) for field in descriptor.fields)


def _cut(data: Buffer, offset: int, end: int, descriptor: Descriptor, blobs: Blobs, depth: int) -> Iterator[bytes]:
    if depth > MAX_DEPTH:
        raise BinaryError(
            f"byte {offset}: messages are nested more than {MAX_DEPTH} deep; the file is damaged, so download or copy "
            f"it again"
        )
    blob_fields, unchanged, count = _blob_fields(descriptor), offset, 0
    try:
        for field in fields(data, offset, end):
            offset = field.end
            submessage = blob_fields.get(field.number)
            if submessage is None or field.kind != LENGTH:
                continue
            count += 1
            Limit.MESSAGE_PARTS.check(count, f"byte {offset}: the message")
            yield bytes(data[unchanged : field.start])
            offset = field.start
            if submessage is _BLOB:
                encoded = _cut_blob(data, field.value, field.end, blobs)
            else:
                encoded = b"".join(_cut(data, field.value, field.end, submessage, blobs, depth + 1))
            yield tag(field.number, LENGTH) + varint(len(encoded)) + encoded
            offset = unchanged = field.end
    except (BinaryError, LimitError) as problem:
        raise type(problem)(_layer_prefix_at(data, offset, end, blob_fields) + str(problem)) from None
    yield bytes(data[unchanged:end])


def _layer_prefix_at(data: Buffer, offset: int, end: int, blob_fields: dict[int, Descriptor]) -> str:
    """Return the beginning of an error about the field that starts at `offset`. The field may be cut short."""
    try:
        key, offset = read_varint(data, offset, end)
        size, offset = read_varint(data, offset, end)
    except BinaryError:
        return ""
    submessage = blob_fields.get(key >> 3)
    return (
        layer_prefix(submessage, data, offset, min(offset + size, end))
        if submessage is not None and key & 7 == LENGTH
        else ""
    )


def _cut_blob(data: Buffer, start: int, end: int, blobs: Blobs) -> bytes:
    """Return the encoded blob with `stored` in place of its values. A blob without values is left as it is."""
    kept_pieces, parts, offset = [], [], start
    for field in _fields_with_runs(data, start, end):
        if field.number == _STORED:
            raise BinaryError(
                f"byte {field.start}: field {_STORED} can't be in a file; the file is damaged, so download or copy it "
                f"again"
            )
        part = _blob_part(data, field)
        if part is not None:
            kept_pieces.append(bytes(data[offset : field.start]))
            parts.append(part)
            offset = field.end
        Limit.BLOB_PIECES.check(len(parts), f"byte {start}: the blob")
    skeleton = b"".join(kept_pieces) + bytes(data[offset:end])
    if not parts:
        return skeleton
    return skeleton + tag(_STORED, VARINT) + varint(blobs.add(Blob(tuple(parts))))


def _fields_with_runs(data: Buffer, offset: int, end: int) -> Iterator[Field]:
    """Yield the fields of a blob. A run of unpacked floats, which old files contain, counts as one field."""
    while offset < end:
        field = next(fields(data, offset, end))
        dtype = _VALUE_TYPES.get(field.number)
        if dtype is not None and field.kind == _FIXED_KINDS.get(dtype.itemsize) and field.value == field.start + 1:
            step = field.end - field.start
            rows = np.frombuffer(data, np.uint8, (end - offset) // step * step, offset).reshape(-1, step)
            field = field._replace(end=offset + step * _run_length(rows, data[offset]))
        yield field
        offset = field.end


def _run_length(rows: Array, first: int) -> int:
    """Return the number of rows that begin with the same tag.

    The search reads growing blocks, so a short run is cheap.
    """
    row, block = 0, 256
    while row < len(rows):
        other = np.flatnonzero(rows[row : row + block, 0] != first)
        if len(other):
            return row + int(other[0])
        row, block = row + block, block * 4
    return len(rows)


def _blob_part(data: Buffer, field: Field) -> BlobPart | None:
    dtype = _VALUE_TYPES.get(field.number)
    if dtype is None:
        return None
    encoded = memoryview(data)[field.start : field.end]
    if field.kind == LENGTH:
        size = field.end - field.value
        if size % dtype.itemsize:
            reason = f"{size:,} bytes aren't a whole number of {dtype.itemsize}-byte values"
            raise BinaryError(f"byte {field.start}: {reason}; the file is damaged, so download or copy it again")
        return BlobPart(field.number, (encoded,), np.frombuffer(data, dtype, size // dtype.itemsize, field.value))
    if dtype.itemsize == 1:  # the field of another fork, not NVIDIA's raw values
        return None
    if field.kind != _FIXED_KINDS[dtype.itemsize]:
        raise BinaryError(
            f"byte {field.start}: the values of a blob have the wrong wire type; the file is damaged, so download or "
            f"copy it again"
        )
    step = dtype.itemsize + field.value - field.start
    count = (field.end - field.start) // step
    values = np.ndarray((count,), dtype, data, field.value, (step,))
    return BlobPart(field.number, (encoded,), values)


def _join(skeleton: bytes, descriptor: Descriptor, blobs: Blobs) -> tuple[int, list[Buffer]]:
    """Return the length of a message with its blobs, and the pieces of the message."""
    blob_fields, unchanged = _blob_fields(descriptor), 0
    length, pieces = 0, list[Buffer]()
    for field in fields(skeleton):
        submessage = blob_fields.get(field.number)
        if submessage is None or field.kind != LENGTH:
            continue
        encoded = skeleton[field.value : field.end]
        size, parts = _join_blob(encoded, blobs) if submessage is _BLOB else _join(encoded, submessage, blobs)
        head = skeleton[unchanged : field.start] + tag(field.number, LENGTH) + varint(size)
        length += len(head) + size
        pieces += [head, *parts]
        unchanged = field.end
    return length + len(skeleton) - unchanged, [*pieces, skeleton[unchanged:]]


def _join_blob(skeleton: bytes, blobs: Blobs) -> tuple[int, list[Buffer]]:
    """Return the length and the pieces of a blob, ordered by field number as Caffe writes them."""
    numbered: list[tuple[int, tuple[Buffer, ...]]] = []
    for field in fields(skeleton):
        if field.number == _STORED:
            index, _ = read_varint(skeleton, field.value, field.end)
            numbered += [(part.number, part.encoded) for part in blobs[index].parts]
        else:
            numbered.append((field.number, (skeleton[field.start : field.end],)))
    pieces = list(chain.from_iterable(encoded for _, encoded in sorted(numbered, key=lambda pair: pair[0])))
    return sum(map(len, pieces)), pieces
