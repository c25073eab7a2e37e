"""Binary messages whose blobs stay where they are: values are cut out before parsing and put back while writing."""

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
from caffe_proto.descriptors import descriptor_of, in_layer
from caffe_proto.errors import BinaryError
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
_HOLDS = {**VALUES, **GRADIENTS}
_FIXED = {4: FIXED32, 8: FIXED64}  # the kind of a single value, by its size
_MOST_PARTS = 1000  # a writer leaves the values of a blob in one place or two; whoever scatters them wants our memory

_MOST_BELOW = 100_000  # layers of a net: two bytes in a file can make two kilobytes in memory

M = TypeVar("M", bound=Message)


def cut(data: Buffer, descriptor: Descriptor, blobs: Blobs) -> bytes:
    """The message without the values of its blobs, which are kept in `blobs` as views on `data`."""
    if descriptor is _BLOB:
        return _cut_blob(data, 0, len(data), blobs)
    return b"".join(_cut(data, 0, len(data), descriptor, blobs, 0))


def parse(skeleton: bytes, message: type[M]) -> M:
    """The message of what `cut` left."""
    try:
        return message.FromString(skeleton)
    except DecodeError:
        what = f"not a valid {message.DESCRIPTOR.name}; the file is damaged, or is something else"
        raise BinaryError(what) from None


def join(skeleton: bytes, descriptor: Descriptor, blobs: Blobs) -> Iterator[Buffer]:
    """The inverse of `cut`: pieces to be written one after the other, values never copied."""
    if descriptor is _BLOB:
        return iter(_join_blob(skeleton, blobs)[1])
    return iter(_join(skeleton, descriptor, blobs)[1])


@cache
def _holders(descriptor: Descriptor) -> dict[int, Descriptor]:
    """The fields of a message that are blobs or lead to blobs."""
    return {
        field.number: field.message_type
        for field in descriptor.fields
        if field.message_type is not None and _leads_to_blob(field.message_type, frozenset())
    }


def _leads_to_blob(descriptor: Descriptor, seen: frozenset[str]) -> bool:
    if descriptor is _BLOB:
        return True
    if descriptor.full_name in seen:
        return False
    below = seen | {descriptor.full_name}
    return any(field.message_type and _leads_to_blob(field.message_type, below) for field in descriptor.fields)


def _cut(data: Buffer, at: int, end: int, descriptor: Descriptor, blobs: Blobs, depth: int) -> Iterator[bytes]:
    if depth > MAX_DEPTH:
        raise BinaryError(f"byte {at}: messages are nested more than {MAX_DEPTH} deep; the file is damaged")
    holders, unchanged, count = _holders(descriptor), at, 0
    try:
        for field in fields(data, at, end):
            at = field.end
            below = holders.get(field.number)
            if below is None or field.kind != LENGTH:
                continue
            count += 1
            if count > _MOST_BELOW:
                raise BinaryError(f"byte {at}: more than {_MOST_BELOW:,} layers or blobs; the file is damaged")
            yield bytes(data[unchanged : field.start])
            at = field.start
            if below is _BLOB:
                inner = _cut_blob(data, field.value, field.end, blobs)
            else:
                inner = b"".join(_cut(data, field.value, field.end, below, blobs, depth + 1))
            yield tag(field.number, LENGTH) + varint(len(inner)) + inner
            at = unchanged = field.end
    except BinaryError as problem:
        raise BinaryError(_in_layer_at(data, at, end, holders) + str(problem)) from None
    yield bytes(data[unchanged:end])


def _in_layer_at(data: Buffer, at: int, end: int, holders: dict[int, Descriptor]) -> str:
    """How an error in the field that starts at `at` begins; the field may be cut short."""
    try:
        key, at = read_varint(data, at, end)
        size, at = read_varint(data, at, end)
    except BinaryError:
        return ""
    below = holders.get(key >> 3)
    return in_layer(below, data, at, min(at + size, end)) if below is not None and key & 7 == LENGTH else ""


def _cut_blob(data: Buffer, start: int, end: int, blobs: Blobs) -> bytes:
    """The blob with `stored` in the place of its values; without values it is left as it is."""
    rest, parts, at = [], [], start
    for field in _runs(data, start, end):
        if field.number == _STORED:
            raise BinaryError(f"byte {field.start}: field {_STORED} can't be in a file; the file is damaged")
        part = _part(data, field)
        if part is not None:
            rest.append(bytes(data[at : field.start]))
            parts.append(part)
            at = field.end
        if len(parts) > _MOST_PARTS:
            raise BinaryError(f"byte {start}: a blob in more than {_MOST_PARTS} pieces; the file is damaged")
    skeleton = b"".join(rest) + bytes(data[at:end])
    if not parts:
        return skeleton
    return skeleton + tag(_STORED, VARINT) + varint(blobs.add(Blob(tuple(parts))))


def _runs(data: Buffer, at: int, end: int) -> Iterator[Field]:
    """The fields of a blob, where a run of single floats (the way before packing) counts as one field."""
    while at < end:
        field = next(fields(data, at, end))
        kind = _HOLDS.get(field.number)
        if kind is not None and field.kind == _FIXED.get(kind.itemsize) and field.value == field.start + 1:
            step = field.end - field.start
            rows = np.frombuffer(data, np.uint8, (end - at) // step * step, at).reshape(-1, step)
            field = field._replace(end=at + step * _run_length(rows, data[at]))
        yield field
        at = field.end


def _run_length(rows: Array, first: int) -> int:
    """How many of the rows begin with the same tag, looked up in growing blocks so that a short run is cheap."""
    at, block = 0, 256
    while at < len(rows):
        other = np.flatnonzero(rows[at : at + block, 0] != first)
        if len(other):
            return at + int(other[0])
        at, block = at + block, block * 4
    return len(rows)


def _part(data: Buffer, field: Field) -> BlobPart | None:
    kind = _HOLDS.get(field.number)
    if kind is None:
        return None
    encoded = memoryview(data)[field.start : field.end]
    if field.kind == LENGTH:
        size = field.end - field.value
        if size % kind.itemsize:
            what = f"{size:,} bytes are no whole number of values of {kind.itemsize} bytes"
            raise BinaryError(f"byte {field.start}: {what}; the file is damaged")
        return BlobPart(field.number, (encoded,), np.frombuffer(data, kind, size // kind.itemsize, field.value))
    if kind.itemsize == 1:  # not NVIDIA's raw values, but something of another fork's
        return None
    if field.kind != _FIXED[kind.itemsize]:
        raise BinaryError(f"byte {field.start}: values of a blob have the wrong kind; the file is damaged")
    step = kind.itemsize + field.value - field.start
    count = (field.end - field.start) // step
    values = np.ndarray((count,), kind, data, field.value, (step,))
    return BlobPart(field.number, (encoded,), values)


def _join(skeleton: bytes, descriptor: Descriptor, blobs: Blobs) -> tuple[int, list[Buffer]]:
    """The length of a message with its blobs, and its pieces."""
    holders, unchanged = _holders(descriptor), 0
    length, pieces = 0, list[Buffer]()
    for field in fields(skeleton):
        below = holders.get(field.number)
        if below is None or field.kind != LENGTH:
            continue
        inner = skeleton[field.value : field.end]
        size, parts = _join_blob(inner, blobs) if below is _BLOB else _join(inner, below, blobs)
        head = skeleton[unchanged : field.start] + tag(field.number, LENGTH) + varint(size)
        length += len(head) + size
        pieces += [head, *parts]
        unchanged = field.end
    return length + len(skeleton) - unchanged, [*pieces, skeleton[unchanged:]]


def _join_blob(skeleton: bytes, blobs: Blobs) -> tuple[int, list[Buffer]]:
    """A blob in the order of its field numbers, which is the order that Caffe writes."""
    numbered: list[tuple[int, tuple[Buffer, ...]]] = []
    for field in fields(skeleton):
        if field.number == _STORED:
            index, _ = read_varint(skeleton, field.value, field.end)
            numbered += [(part.number, part.encoded) for part in blobs[index].parts]
        else:
            numbered.append((field.number, (skeleton[field.start : field.end],)))
    pieces = list(chain.from_iterable(encoded for _, encoded in sorted(numbered, key=lambda pair: pair[0])))
    return sum(map(len, pieces)), pieces
