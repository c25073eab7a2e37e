"""Arrow columns as arrays for blobs: the types that can be read, whole columns, and single rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from netdsl.data.tables.arrow import arrow, fields_of, is_bytes, is_dictionary, is_list, is_number, is_tensor
from netdsl.data.transforms.image_formats import is_image_file
from netdsl.data.types import Array
from netdsl.errors import DataError

Shape = tuple[int, ...]
Mask = NDArray[np.bool_]

_VECTOR = {"type", "size", "indices", "values"}  # the fields of pyspark.ml's vectors
_PIXELS = {"height", "width", "nChannels", "mode", "data"}  # the fields of Spark's images
_FILE = "bytes"  # the field with the image file in Hugging Face's images
_DENSE = 1  # the type of a dense vector; a sparse vector has type 0
_DEPTH = 7  # the bits of an image's mode that state the type of a value; 0 is a byte
_COLORS = 3  # the most channels that Caffe reads from an image; a fourth channel is transparency
NOT_AN_ARRAY = "which can't be an array; use a column of numbers, arrays of numbers, vectors, images or bytes"


class ColumnReader(ABC):
    """A reader of one kind of columns. Its ValueErrors describe the problem with a row, as in "is null"."""

    holds_images: ClassVar[bool] = False  # whether a value is an image or an image file, rather than numbers

    def rows(self, column: Any) -> Array:
        """Return all rows as one array, if possible without a copy.

        Raises a `ValueError` if they have no common shape.
        """
        _refuse_nulls(column)
        return self._rows(column)

    def row(self, column: Any) -> Array | bytes:
        """Return the value of a column with a single row: an array, or an image file."""
        _refuse_nulls(column)
        return self._row(column)

    def grows(self, column: Any) -> bool:
        """Return whether an array of all rows can need much more memory than the column."""
        return False

    def missing(self, column: Any) -> Mask:
        """Return a mask of the rows that are null or contain a null."""
        return _nulls(column)

    @abstractmethod
    def _rows(self, column: Any) -> Array: ...

    def _row(self, column: Any) -> Array | bytes:
        return np.asarray(self._rows(column)[0])


def _nulls(column: Any) -> Mask:
    nulls: Mask = column.is_null().to_numpy(zero_copy_only=False).copy()
    return nulls


def _refuse_nulls(column: Any) -> None:
    if column.null_count:
        raise ValueError("is null; drop such rows, or fill them")


def reader_of(kind: Any, shape: Shape | None) -> ColumnReader | None:
    """Return the reader for columns of an Arrow type, or `None` if they can't be read.

    `shape` is the shape of an item, if it is known.
    """
    if is_number(kind):
        return NumberReader()
    if is_list(kind):
        return _list_reader(kind)
    if is_tensor(kind):
        storage = _list_reader(kind.storage_type)
        return None if storage is None else TensorReader(storage)
    if is_bytes(kind):
        return BytesReader(shape)
    if is_dictionary(kind):
        values = reader_of(kind.value_type, shape)
        return None if values is None else DictionaryReader(values)
    fields = fields_of(kind)
    if fields == _VECTOR:
        return VectorReader()
    if fields >= _PIXELS:
        return PixelReader()
    if _FILE in fields and is_bytes(kind.field(_FILE).type):
        return FileReader(shape)
    return None


def _list_reader(kind: Any) -> ListReader | None:
    if is_number(kind.value_type):
        return ListReader(NumberReader())
    values = _list_reader(kind.value_type) if is_list(kind.value_type) else None
    return None if values is None else ListReader(values)


class NumberReader(ColumnReader):
    """Numbers, booleans and decimals."""

    def _rows(self, column: Any) -> Array:
        if arrow().types.is_decimal(column.type):
            column = column.cast(arrow().float64())
        numbers: Array = column.to_numpy(zero_copy_only=False)
        return numbers


class ListReader(ColumnReader):
    """Lists of equal lengths. They contain numbers or, again, lists."""

    def __init__(self, values: ColumnReader) -> None:
        self._values = values

    def _rows(self, column: Any) -> Array:
        values, length = _flat(column), _common_length(_lengths(column))
        array = self._values.rows(values)
        return array.reshape(len(column), length, *array.shape[1:])

    def missing(self, column: Any) -> Mask:
        """Return a mask of the rows that are null or have a null in their list."""
        missing, lists = _nulls(column), column.drop_null()
        in_lists = self._values.missing(lists.flatten())
        rows = np.repeat(np.flatnonzero(~missing), _lengths(lists))
        missing[rows[in_lists]] = True
        return missing


class TensorReader(ColumnReader):
    """Arrow's tensors, whose axes can be stored in another order."""

    def __init__(self, storage: ListReader) -> None:
        self._storage = storage

    def _rows(self, column: Any) -> Array:
        stored = self._storage.rows(column.storage).reshape(len(column), *column.type.shape)
        order = column.type.permutation  # pyarrow's own conversion mixes up the strides of three axes
        return stored if order is None else stored.transpose(0, *(axis + 1 for axis in order))

    def missing(self, column: Any) -> Mask:
        """Return a mask of the rows that are null or have a null in their storage."""
        return self._storage.missing(column.storage)


class VectorReader(ColumnReader):
    """Dense and sparse vectors of pyspark.ml."""

    def grows(self, column: Any) -> bool:
        """Return whether the column contains sparse vectors."""
        return not _is_dense(column).all()

    def _rows(self, column: Any) -> Array:
        values, dense = column.field("values"), _is_dense(column)
        if dense.all():
            return ListReader(NumberReader()).rows(values)
        _refuse_nulls(values)
        lengths = _lengths(values)
        size = _common_length(np.where(dense, lengths, column.field("size").fill_null(0).to_numpy()))
        sparse_places, in_dense = _flat(column.field("indices")).to_numpy(), np.repeat(dense, lengths)
        if len(sparse_places) != (~in_dense).sum() or ((sparse_places < 0) | (sparse_places >= size)).any():
            raise ValueError(f"is a vector of {size} values whose indices don't fit; write it again")
        places = np.empty(len(in_dense), np.int64)
        places[in_dense] = np.tile(np.arange(size), int(dense.sum()))
        places[~in_dense] = sparse_places
        array = np.zeros((len(column), size), np.float32)
        array[np.repeat(np.arange(len(column)), lengths), places] = _flat(values).to_numpy()
        return array

    def missing(self, column: Any) -> Mask:
        """Return a mask of the rows that are null or have a null among their values."""
        return _nulls(column) | ListReader(NumberReader()).missing(column.field("values"))


class PixelReader(ColumnReader):
    """Spark's images. The channels of a pixel are stored together: blue, green, red, and optionally transparency."""

    holds_images = True

    def _rows(self, column: Any) -> Array:
        names, data = ("height", "width", "nChannels", "mode"), column.field("data")
        height, width, channels, mode = (column.field(name).fill_null(-1).to_numpy() for name in names)
        sizes = np.stack([height, width, channels], 1).astype(np.int64)
        if data.null_count or (sizes < 1).any():
            raise ValueError("isn't an image that Spark could read; drop such rows")
        if (mode & _DEPTH).any():
            raise ValueError("is an image whose values aren't of 8 bits; convert it")
        if (np.diff(_ends(data)) != sizes.prod(1)).any():
            raise ValueError("is an image whose data don't fit its size; drop such rows")
        if (sizes != sizes[:1]).any():
            raise ValueError("has images of different sizes; resize them")
        size = sizes[0] if len(sizes) else (0, 0, 0)
        return _joined_bytes(data).reshape(len(column), *size).transpose(0, 3, 1, 2)[:, :_COLORS]

    def missing(self, column: Any) -> Mask:
        """Return a mask of the rows that are null or aren't an image that Spark could read."""
        sizes = [column.field(name).fill_null(-1).to_numpy() for name in ("height", "width", "nChannels")]
        return _nulls(column) | _nulls(column.field("data")) | (np.stack(sizes) < 1).any(0)


class BytesReader(ColumnReader):
    """Bytes. They are the values of an item if their number fits its shape, and otherwise an image file."""

    holds_images = True

    def __init__(self, shape: Shape | None) -> None:
        self._shape = shape

    def _rows(self, column: Any) -> Array:
        types = arrow().types
        if not (types.is_binary(column.type) or types.is_large_binary(column.type)):
            column = column.cast(arrow().large_binary())
        if self._shape is None or (np.diff(_ends(column)) != math.prod(self._shape)).any():
            raise ValueError("has image files")
        if len(column) and is_image_file(column[0].as_py()):
            raise ValueError("has image files")
        return _joined_bytes(column).reshape(len(column), *self._shape)

    def _row(self, column: Any) -> Array | bytes:
        data: bytes = column[0].as_py()
        if self._shape is None or len(data) != math.prod(self._shape) or is_image_file(data):
            return data
        return np.frombuffer(data, np.uint8).reshape(self._shape)


class FileReader(ColumnReader):
    """Hugging Face's images: their bytes, stored together with their original path."""

    holds_images = True

    def __init__(self, shape: Shape | None) -> None:
        self._bytes = BytesReader(shape)

    def _rows(self, column: Any) -> Array:
        return self._bytes.rows(column.field(_FILE))

    def _row(self, column: Any) -> Array | bytes:
        return self._bytes.row(column.field(_FILE))

    def missing(self, column: Any) -> Mask:
        """Return a mask of the rows that are null or have no bytes."""
        return _nulls(column) | _nulls(column.field(_FILE))


class DictionaryReader(ColumnReader):
    """Columns that store their distinct values once, and an index into them for each row."""

    def __init__(self, values: ColumnReader) -> None:
        self._values = values

    def grows(self, column: Any) -> bool:
        """Return whether the values are larger than single numbers."""
        return not is_number(column.type.value_type)

    def _rows(self, column: Any) -> Array:
        return self._values.rows(column.dictionary_decode())

    def _row(self, column: Any) -> Array | bytes:
        return self._values.row(column.dictionary_decode())

    def missing(self, column: Any) -> Mask:
        """Return a mask of the rows that are null or contain a null."""
        return self._values.missing(column.dictionary_decode())


def _flat(column: Any) -> Any:
    """Return the values of all lists, joined."""
    values = column.flatten()
    if values.null_count:
        raise ValueError("has a null in its array; drop such rows, or fill them")
    return values


def _lengths(column: Any) -> NDArray[np.int64]:
    """Return the number of values in each list."""
    if arrow().types.is_fixed_size_list(column.type):
        return np.full(len(column), column.type.list_size, np.int64)
    starts: NDArray[np.int64] = column.offsets.to_numpy().astype(np.int64)
    return np.diff(starts)


def _common_length(lengths: Array) -> int:
    """Return the common length of lists. Raises a `ValueError` if their lengths differ."""
    first = int(lengths[0]) if len(lengths) else 0
    other = lengths[lengths != first]
    if len(other):
        raise ValueError(f"has arrays of {first} and of {other[0]} values; give all arrays the same length")
    return first


def _is_dense(vectors: Any) -> NDArray[np.bool]:
    dense: NDArray[np.bool] = vectors.field("type").fill_null(0).to_numpy() == _DENSE
    return dense


def _ends(column: Any) -> NDArray[np.int64]:
    """Return the offset at which each row's bytes begin, followed by the end of the last row."""
    kind = np.int64 if arrow().types.is_large_binary(column.type) else np.int32
    if not len(column):
        return np.zeros(1, np.int64)
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column) + 1].astype(np.int64)


def _joined_bytes(column: Any) -> NDArray[np.uint8]:
    """Return all bytes of a column, without a copy."""
    ends, data = _ends(column), column.buffers()[2]
    return np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]


@dataclass(frozen=True)
class RowRange:
    """Rows of a part of a table, from row `first` on. A part is a file, or for example 'partition 3'. Errors name
    them."""

    part: str
    first: int = 0

    def place(self, column: str, row: int) -> str:
        """Return the place of a value, in words for an error."""
        return f"column '{column}': row {self.first + row} of {self.part}"

    def check(self, column: str, wrong: Array, what: str) -> None:
        """Raise a `DataError` about the first row for which `wrong` is true."""
        if wrong.any():
            raise DataError(f"{self.place(column, int(wrong.argmax()))} {what}")

    def check_shapes(self, column: str, items: Iterable[Array], advice: str) -> None:
        """Raise a `DataError` about the first item of a column whose shape differs from that of the first item."""
        shapes = [np.shape(item) for item in items]
        for row, shape in enumerate(shapes):
            if shape != shapes[0]:
                what = f"has shape {list(shape)}, but row {self.first} has {list(shapes[0])}; {advice}"
                raise DataError(f"{self.place(column, row)} {what}")


class ColumnValues:
    """The values of a column in some rows: in an Arrow batch, a Parquet row group, or a part of either.

    A column contains numbers, lists of numbers (also nested ones), Arrow's tensors, vectors of pyspark.ml, Spark's
    images, or bytes. Bytes can be in a struct, as in Hugging Face's data sets. They are an item's values if the shape
    of items is known and their number fits it. Otherwise they are image files, which stay encoded.
    """

    def __init__(self, column: Any, name: str, rows: RowRange, shape: Shape | None = None) -> None:
        reader = reader_of(column.type, shape)
        if reader is None:
            raise DataError(f"column '{name}' is of type {column.type}, {NOT_AN_ARRAY}")
        self._column, self._reader, self._name, self._rows, self._shape = column, reader, name, rows, shape

    @cached_property
    def whole(self) -> Array | None:
        """All rows in their stored form, or `None` if only single rows can be read or they need much less memory."""
        return None if self._reader.grows(self._column) else self._all()

    def row(self, index: int) -> Array | bytes:
        """Return one row in its stored form, as an array or an image file. Raises a `DataError` if the row is null."""
        if self.whole is not None:
            return np.asarray(self.whole[index])
        try:
            return self._reader.row(self._column.slice(index, 1))
        except ValueError as problem:
            raise DataError(f"{self._rows.place(self._name, index)} {problem}") from None

    def items(self) -> Array:
        """Return all rows in the types that nets accept, and in an item's shape if they fit.

        Image files, and rows of different shapes, are returned in an array of objects.
        """
        whole = self._all()
        if whole is not None:
            return as_items(whole, self._shape)
        items = np.empty(len(self._column), object)
        for index in range(len(items)):
            value = self.row(index)
            items[index] = value if isinstance(value, bytes) else as_items(value[None], self._shape)[0]
        return items

    def missing(self) -> Mask:
        """Return a mask of the rows that are null or contain a null."""
        return self._reader.missing(self._column)

    def _all(self) -> Array | None:
        try:
            return self._reader.rows(self._column)
        except ValueError:
            return None


def as_items(values: Array, shape: Shape | None = None) -> Array:
    """Return rows of values in the types that nets accept, and in an item's shape if they fit.

    An array of objects stays as it is.
    """
    if values.dtype == object:
        return values
    return in_net_types(values).reshape(len(values), *fit_shape(values.shape[1:], shape))


def in_net_types(values: Array) -> Array:
    """Return rows of values in the types that nets accept. Bytes of images stay bytes, and all others become
    float32."""
    return values if values.dtype == np.uint8 and values.ndim > 1 else values.astype(np.float32, copy=False)


def fit_shape(shape: Shape, wanted: Shape | None) -> Shape:
    """Return the wanted shape if it has the same values in the same order, and otherwise the value's own shape."""
    if wanted is None or math.prod(shape) != math.prod(wanted):
        return shape
    without_ones = [[length for length in lengths if length != 1] for lengths in (shape, wanted)]
    same_order = min(map(len, without_ones)) <= 1 or without_ones[0] == without_ones[1]
    return wanted if same_order else shape
