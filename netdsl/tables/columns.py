"""Columns of a table as arrays, all rows of an Arrow batch at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netdsl.data.batches.table_binding import are_alike
from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.tables.arrow import arrow

Shape = tuple[int, ...]

_VECTOR = {"type", "size", "indices", "values"}  # the fields of pyspark.ml's vectors
_IMAGE = {"height", "width", "nChannels", "mode", "data"}  # of Spark's images
_DENSE = 1  # the type of a dense vector; 0 is a sparse one's
_DEPTH = 7  # the bits of an image's mode that say of what type a value is; 0 is a byte
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")  # of encoded images


@dataclass(frozen=True)
class Rows:
    """Which rows of a column a batch has: those of a table's part, such as 'partition 3', from the first on."""

    column: str
    part: str
    first: int
    values: int = 1  # that each row has, where it is looked into

    def of(self, column: str) -> Rows:
        """The same rows of another column."""
        return replace(self, column=column)

    def problem(self, at: int, what: str) -> DataError:
        """What is wrong with one of them."""
        row = self.first + at // self.values
        return DataError(f"column '{self.column}': row {row} of {self.part} {what}")

    def check(self, wrong: Array, what: str) -> None:
        """A DataError about the first row for which it is true."""
        if wrong.any():
            raise self.problem(int(wrong.argmax()), what)


def array_of(column: Any, shape: Shape | None, rows: Rows) -> Array:
    """The rows of a column, as items of a shape if that fits: float32, or the bytes of images.

    A column has numbers, lists of them (nested ones too), Arrow's tensors, vectors of pyspark.ml, Spark's images, or
    bytes, which may be in a struct as Hugging Face's data sets have them. Bytes are an item's values if there are as
    many, else encoded images, which stay encoded in an array of objects.
    """
    if column.null_count:
        rows.check(_missing(column), "is null; drop such rows, or fill them")
    return as_items(_reader(column.type, rows)(column, shape, rows), shape)


def as_items(values: Array, shape: Shape | None) -> Array:
    """Rows of values in the types that nets take, and in an item's shape if it's the same values in the same order."""
    if values.dtype == object:
        return values
    values = values if values.dtype == np.uint8 and values.ndim > 1 else values.astype(np.float32, copy=False)
    own = values.shape[1:]
    fits = shape is not None and math.prod(own) == math.prod(shape) and are_alike(own, shape)
    return values.reshape(len(values), *shape) if shape is not None and fits else values


def column_of(array: Array) -> Any:
    """An Arrow column with an array's rows."""
    if array.dtype == object:
        return arrow().array(list(array), arrow().binary())
    if array.ndim == 1:
        return arrow().array(array)
    return arrow().FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(array))


Reader = Callable[[Any, Shape | None, Rows], Array]


def _reader(kind: Any, rows: Rows) -> Reader:
    types = arrow().types
    if _is_number(kind):
        return _numbers
    if types.is_binary(kind) or types.is_large_binary(kind):
        return _bytes
    if _is_list(kind):
        return _lists
    if isinstance(kind, arrow().FixedShapeTensorType):
        return _tensors
    fields = {field.name for field in kind} if types.is_struct(kind) else set()
    if fields == _VECTOR:
        return _vectors
    if fields >= _IMAGE:
        return _images
    if "bytes" in fields:
        return _files
    raise DataError(
        f"column '{rows.column}' is of type {kind}, which can't be an array; a column has numbers, arrays of numbers, "
        "vectors, images or bytes"
    )


def _is_number(kind: Any) -> bool:
    types = arrow().types
    return bool(types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_list(kind: Any) -> bool:
    types = arrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _missing(column: Any) -> Array:
    found: Array = column.is_null().to_numpy(zero_copy_only=False)
    return found


def _numbers(column: Any, shape: Shape | None, rows: Rows) -> Array:
    if arrow().types.is_decimal(column.type):
        column = column.cast(arrow().float64())
    values: Array = column.to_numpy(zero_copy_only=False)
    return values


def _lists(column: Any, shape: Shape | None, rows: Rows) -> Array:
    """Lists of one length are the rows of an array; what is in them is an array already."""
    values, length = column.flatten(), _same(_lengths(column), rows)
    read = _lists if _is_list(values.type) else _numbers if _is_number(values.type) else None
    if read is None:
        raise DataError(f"column '{rows.column}' is of type {column.type}, which has no numbers")
    inside = replace(rows, values=rows.values * max(1, length))
    if values.null_count:
        inside.check(_missing(values), "has a null in its array")
    found = read(values, shape, inside)
    return found.reshape(len(column), length, *found.shape[1:])


def _tensors(column: Any, shape: Shape | None, rows: Rows) -> Array:
    values: Array = _lists(column.storage, shape, rows)
    return values.reshape(len(column), *column.type.shape)


def _lengths(column: Any) -> NDArray[np.int64]:
    if arrow().types.is_fixed_size_list(column.type):
        return np.full(len(column), column.type.list_size, np.int64)
    starts: NDArray[np.int64] = column.offsets.to_numpy().astype(np.int64)
    return np.diff(starts)


def _same(lengths: Array, rows: Rows) -> int:
    """How long all lists are."""
    first = int(lengths[0]) if len(lengths) else 0
    other = lengths != first
    if other.any():
        at = int(other.argmax())
        raise rows.problem(at, f"has {lengths[at]} values, and others have {first}; all must have as many")
    return first


def _vectors(column: Any, shape: Shape | None, rows: Rows) -> Array:
    """Vectors of pyspark.ml; the size of a dense one is the number of its values."""
    dense: NDArray[np.bool] = column.field("type").to_numpy() == _DENSE
    if dense.all():
        return _lists(column.field("values"), shape, rows)
    lengths = _lengths(column.field("values"))
    sizes = column.field("size").fill_null(0).to_numpy()
    size = _same(np.where(dense, lengths, sizes), rows)
    is_dense = np.repeat(dense, lengths)
    places = np.empty(len(is_dense), np.int64)
    places[is_dense] = np.tile(np.arange(size), int(dense.sum()))
    places[~is_dense] = column.field("indices").flatten().to_numpy()
    found = np.zeros((len(column), size), np.float32)
    found[np.repeat(np.arange(len(column)), lengths), places] = column.field("values").flatten().to_numpy()
    return found


def _bytes(column: Any, shape: Shape | None, rows: Rows) -> Array:
    raw = shape is not None and len(column) and (np.diff(_ends(column)) == math.prod(shape)).all()
    if raw and not column[0].as_py().startswith(_SIGNATURES):
        return _values_of(column).reshape(len(column), -1)
    found = np.empty(len(column), object)
    found[:] = column.to_pylist()
    return found


def _files(column: Any, shape: Shape | None, rows: Rows) -> Array:
    """Hugging Face's images: their bytes beside the path that they came from."""
    return array_of(column.field("bytes"), shape, rows)


def _ends(column: Any) -> Array:
    """Where the bytes of each row begin, and those of the last one end."""
    kind = np.int64 if arrow().types.is_large_binary(column.type) else np.int32
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column) + 1]


def _values_of(column: Any) -> Array:
    """All bytes of a column, in the memory where they are."""
    ends, data = _ends(column), column.buffers()[2]
    return np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]


def _images(column: Any, shape: Shape | None, rows: Rows) -> Array:
    """Spark's images, whose rows have the channels of each pixel together: blue, green, red, perhaps transparency."""
    height, width, channels, mode = (column.field(name).to_numpy() for name in ("height", "width", "nChannels", "mode"))
    rows.check((height < 1) | (width < 1), "is no image that Spark could read; drop such rows")
    rows.check(mode & _DEPTH != 0, "is an image whose values aren't of 8 bits")
    sizes = np.stack([height, width, channels], 1)
    other = (sizes != sizes[:1]).any(1)
    if other.any():
        row = int(other.argmax())
        raise rows.problem(
            row,
            f"is an image of {_size(sizes[row])}, and others are of {_size(sizes[0])}; bring all to one size, or keep "
            "them encoded, as spark.read.format('binaryFile') reads them",
        )
    data = column.field("data")
    rows.check(np.diff(_ends(data)) != np.prod(sizes, 1), "is an image whose data don't fit its size")
    return _values_of(data).reshape(len(column), *sizes[0]).transpose(0, 3, 1, 2)[:, :3]


def _size(size: Array) -> str:
    height, width, channels = size
    return f"{height} x {width} with {channels} channels"
