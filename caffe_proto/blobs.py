"""Stores the values of blobs as views on the file that they were read from. They are checked before they are
trusted."""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import BinaryError, BlobError
from caffe_proto.wire import LENGTH, Buffer, tag, varint

Array = NDArray[Any]
Kinds = dict[int, np.dtype[Any]]

# The fields of a BlobProto that hold values, and their types. Only NVIDIA's forks write raw bytes, whose type is in
# another field.
VALUES: Kinds = {5: np.dtype("<f4"), 8: np.dtype("<f8"), 12: np.dtype("u1")}
GRADIENTS: Kinds = {6: np.dtype("<f4"), 9: np.dtype("<f8"), 13: np.dtype("u1")}
MAX_AXES = 32  # Caffe's own limit, kMaxBlobAxes
_RAW_TYPES: Kinds = {pb.FLOAT16: np.dtype("<f2"), pb.FLOAT: np.dtype("<f4"), pb.DOUBLE: np.dtype("<f8")}


class BlobPart(NamedTuple):
    """One field of values in a file: the encoded bytes and the decoded values."""

    number: int
    encoded: tuple[Buffer, ...]
    values: Array


@dataclass(frozen=True)
class Blob:
    """The values of one blob, with its gradients if they were saved. The BlobProto itself stores only an index."""

    parts: tuple[BlobPart, ...] = field(repr=False)

    @classmethod
    def of(cls, array: Array, number: int | None = None) -> Blob:
        """Return a blob to be written.

        float64 becomes `double_data` and everything else float32 `data`, unless `number` names a field.
        """
        number = number or (8 if array.dtype == np.float64 else 5)
        values = np.ascontiguousarray(array, {**VALUES, **GRADIENTS}[number]).reshape(-1)
        encoded = (tag(number, LENGTH) + varint(values.nbytes), values.view(np.uint8).data)
        return cls((BlobPart(number, encoded, values),))

    def flat(self, numbers: Iterable[int] = tuple(VALUES)) -> Array | None:
        """Return all values in one dimension, or `None` if there are none.

        The result is a view unless the values are in several places. If a blob has values of several types, Caffe uses
        the doubles, so the highest field number wins.
        """
        number = max((part.number for part in self.parts if part.number in numbers), default=None)
        pieces = [part.values for part in self.parts if part.number == number]
        return None if not pieces else pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


class Blobs:
    """The blobs of one file. A BlobProto's `stored` is an index into them."""

    def __init__(self) -> None:
        self._blobs: list[Blob] = []

    def __len__(self) -> int:
        return len(self._blobs)

    def __getitem__(self, index: int) -> Blob:
        return self._blobs[index]

    def add(self, blob: Blob) -> int:
        """Add a blob and return the index to put into `stored`."""
        self._blobs.append(blob)
        return len(self._blobs) - 1

    def array(self, proto: pb.BlobProto) -> Array:
        """Return the values of a blob in its shape. Values in a mapped file are read-only; copy them to change them."""
        flat, shape = self._flat(proto, VALUES), shape_of(proto)
        if flat is None:
            return np.empty(0 if math.prod(shape) else shape, np.float32)
        return self._shaped(flat, shape)

    def gradient(self, proto: pb.BlobProto) -> Array | None:
        """Return the gradients that were saved with a blob's values, or `None` if there are none."""
        flat = self._flat(proto, GRADIENTS)
        return None if flat is None else self._shaped(flat, shape_of(proto))

    def _shaped(self, flat: Array, shape: tuple[int, ...]) -> Array:
        """Return the values in their shape. Only a blob in a prototxt can still have a shape that doesn't fit."""
        if flat.size != math.prod(shape):
            raise BlobError(
                f"the shape {list(shape)} of a blob needs {math.prod(shape):,} values, but there are "
                f"{flat.size:,}; write the number of values that the shape needs"
            )
        return flat.reshape(shape)

    def _flat(self, proto: pb.BlobProto, kinds: Kinds) -> Array | None:
        if proto.HasField("stored"):
            flat = self[proto.stored].flat(kinds)
            raw = proto.raw_data_type if kinds is VALUES else proto.raw_diff_type
            return flat.view(_RAW_TYPES[raw]) if flat is not None and flat.dtype == np.uint8 else flat
        field_names = ("data", "double_data") if kinds is VALUES else ("diff", "double_diff")
        # The values of a blob in a prototxt.
        field_name = next((field_name for field_name in field_names if getattr(proto, field_name)), None)
        return (
            np.array(getattr(proto, field_name), kinds[proto.DESCRIPTOR.fields_by_name[field_name].number])
            if field_name
            else None
        )

    def put(self, proto: pb.BlobProto, array: Array, gradient: Array | None = None) -> None:
        """Set a blob's values, shape and, if there are any, gradients."""
        proto.Clear()
        proto.shape.dim.extend(array.shape)
        parts = Blob.of(array).parts
        if gradient is not None:
            parts += Blob.of(gradient, 9 if gradient.dtype == np.float64 else 6).parts
        proto.stored = self.add(Blob(parts))

    def check(self, proto: pb.BlobProto, what: str) -> None:
        """Raise a `BlobError` unless a blob's shape and values fit each other."""
        shape = shape_of(proto)
        if len(shape) > MAX_AXES:
            raise BlobError(
                f"{what}: the shape has {len(shape):,} dimensions, but Caffe allows {MAX_AXES} at most; the "
                "file is damaged, so download or copy it again"
            )
        if any(size < 0 for size in shape) or math.prod(size or 1 for size in shape) >= 2**60:
            raise BlobError(f"{what}: {list(shape)} is not a shape; the file is damaged, so download or copy it again")
        if proto.HasField("stored") and proto.stored >= len(self):
            raise BlobError(f"{what}: the values can't be found; the file is damaged, so download or copy it again")
        self._check_raw(proto, what)
        for kind, kinds in (("values", VALUES), ("gradients", GRADIENTS)):
            flat = self._flat(proto, kinds)
            if flat is not None and flat.size != math.prod(shape):
                message = (
                    f"{what}: the shape {list(shape)} needs {math.prod(shape):,} {kind}, but there are {flat.size:,}"
                )
                raise BlobError(f"{message}; the file is damaged, so download or copy it again")
        if self._flat(proto, VALUES) is None and math.prod(shape) > 0 and shape:
            raise BlobError(
                f"{what}: the shape {list(shape)} needs {math.prod(shape):,} values, but there are none; the "
                "file is damaged, so download or copy it again"
            )

    def _check_raw(self, proto: pb.BlobProto, what: str) -> None:
        if not proto.HasField("stored"):
            return
        for kind, number in ((proto.raw_data_type, 12), (proto.raw_diff_type, 13)):
            for part in self[proto.stored].parts:
                if part.number == number and (kind not in _RAW_TYPES or part.values.size % _RAW_TYPES[kind].itemsize):
                    name = pb.Type.Name(kind)
                    raise BlobError(
                        f"{what}: {part.values.size:,} raw bytes can't be values of type {name}; the file is damaged, "
                        f"so download or copy it again"
                    )


def shape_of(proto: pb.BlobProto) -> tuple[int, ...]:
    """Return the shape of a blob, including an old blob with num, channels, height and width."""
    if proto.HasField("shape"):
        return tuple(proto.shape.dim)
    if any(proto.HasField(name) for name in ("num", "channels", "height", "width")):
        return (proto.num, proto.channels, proto.height, proto.width)
    return ()


def release_pages(array: Array) -> None:
    """Release the memory of values in a mapped file. They are read from the file again if they are needed."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    mapped = owner.obj if isinstance(owner, memoryview) else None
    if isinstance(mapped, mmap.mmap) and owner.readonly and hasattr(mmap, "MADV_DONTNEED"):  # type: ignore[attr-defined]
        start = array.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
        page = start // mmap.PAGESIZE * mmap.PAGESIZE
        mapped.madvise(mmap.MADV_DONTNEED, page, start - page + array.nbytes)


def check_message(message: Message, blobs: Blobs) -> None:
    """Check a message's texts and blobs.

    Raises an error that names the layer if a text isn't UTF-8, or if a blob's shape and values don't fit each other.
    """
    _check_fields(message, blobs, message.DESCRIPTOR.name)


def _check_fields(message: Message, blobs: Blobs, where: str) -> None:
    if isinstance(message, pb.BlobProto):
        blobs.check(message, where)
    for schema_field, value in message.ListFields():
        if schema_field.type == schema_field.TYPE_MESSAGE:
            for index, submessage in enumerate(value if schema_field.is_repeated else [value]):
                _check_fields(submessage, blobs, _place_of_field(schema_field.name, index, submessage, where))
        elif schema_field.type == schema_field.TYPE_STRING:
            for text in value if schema_field.is_repeated else [value]:
                if isinstance(text, bytes):  # protobuf returns bytes for a string that isn't UTF-8
                    raise BinaryError(
                        f"{where}: the {schema_field.name} {text[:40]!r} isn't UTF-8 text; the file is damaged, "
                        "so download or copy it again"
                    )


def _place_of_field(field: str, index: int, message: Message, parent: str) -> str:
    if isinstance(message, (pb.LayerParameter, pb.V1LayerParameter)):
        named_message = message.layer if isinstance(message, pb.V1LayerParameter) else message
        name = message.name or named_message.name
        return f"layer {name[:100]!r}" if name else f"layer {index}"
    if isinstance(message, pb.BlobProto):
        return f"{parent}, {'blob' if field == 'blobs' else field} {index}"
    return parent
