"""Arrow's columns as arrays and the bytes of encoded images: all rows at once where that can be, or one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from caffe_proto.errors import MissingExtraError
from netdsl.data.types import Array

Row = Callable[[int], Any]  # what a column has in a row: an array, bytes, or None
Maker = Callable[[Any], Row]

_BYTES = (0, 16, 24)  # OpenCV's types of pixels with 8 bits and 1, 3 or 4 channels, in Spark's images


@dataclass(frozen=True)
class Columns:
    """What columns have in some rows; `whole` is an array for each, if all values are there and of one shape."""

    rows: tuple[Row, ...]
    whole: tuple[Array, ...] | None


@cache
def arrow() -> Any:
    """The library, with the part that reads and writes Parquet."""
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtraError("Parquet and Arrow files need pyarrow: pip install 'netdsl[data]'") from None
    return import_module("pyarrow")


def columns_of(columns: Iterable[Any]) -> Columns:
    """Columns of types that `rows_of` knows."""
    pairs = [(_whole(column), column) for column in columns]
    rows = tuple(_rows(whole, column) for whole, column in pairs)
    found = tuple(whole for whole, _ in pairs if whole is not None)
    return Columns(rows, found if len(found) == len(pairs) else None)


def _rows(whole: Array | None, column: Any) -> Row:
    if whole is not None:
        return lambda row: np.asarray(whole[row])
    maker = rows_of(column.type)
    assert maker is not None, "checked when the file was opened"
    return maker(column)


def rows_of(kind: Any) -> Maker | None:
    """How the rows of a column of an Arrow type are read; None if they can't be arrays or images."""
    types = arrow().types
    if _is_tensor(kind):
        return _tensors
    if _is_number(kind):
        return _numbers
    if types.is_binary(kind) or types.is_large_binary(kind):
        return _bytes
    if types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        return _images
    if types.is_struct(kind) and {"height", "width", "nChannels", "mode", "data"} <= {field.name for field in kind}:
        return _pixels
    if _is_list(kind):
        return _lists
    return None


def _is_tensor(kind: Any) -> bool:
    return isinstance(kind, arrow().FixedShapeTensorType)


def _is_number(kind: Any) -> bool:
    types = arrow().types
    return bool(types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind))


def _is_list(kind: Any) -> bool:
    types = arrow().types
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return False
    return _is_list(kind.value_type) or _is_number(kind.value_type)


def _whole(column: Any) -> Array | None:
    """Not copied but where bits become booleans."""
    if column.null_count:
        return None
    if _is_tensor(column.type):
        return None if column.storage.flatten().null_count else column.to_numpy_ndarray()
    if _is_number(column.type):
        found: Array = column.to_numpy(zero_copy_only=False)
        return found
    return _whole_lists(column) if _is_list(column.type) else None


def _whole_lists(column: Any) -> Array | None:
    length, values = _length(column), _whole(column.flatten())
    if length is None or values is None:
        return None
    return values.reshape(len(column), length, *values.shape[1:])


def _length(column: Any) -> int | None:
    """How long all lists of a column are."""
    if arrow().types.is_fixed_size_list(column.type):
        return int(column.type.list_size)
    lengths = np.diff(column.offsets.to_numpy())
    return int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else None


def _tensors(column: Any) -> Row:
    return lambda row: column[row].to_numpy() if column[row].is_valid else None


def _numbers(column: Any) -> Row:
    there = column.is_valid().to_numpy(zero_copy_only=False)
    values = column.fill_null(False if arrow().types.is_boolean(column.type) else 0).to_numpy(zero_copy_only=False)
    return lambda row: np.asarray(values[row]) if there[row] else None


def _bytes(column: Any) -> Row:
    return lambda row: column[row].as_py()


def _images(column: Any) -> Row:
    """Hugging Face's images: a struct of the bytes and the path that they came from."""
    return lambda row: (column[row].as_py() or {}).get("bytes")


def _pixels(column: Any) -> Row:
    """Spark's images: pixels in rows, blue, green, red."""

    def found(row: int) -> Array | None:
        image = column[row].as_py()
        if image is None:
            return None
        shape, values = (image["height"], image["width"], image["nChannels"]), np.frombuffer(image["data"], np.uint8)
        if image["mode"] not in _BYTES or len(values) != np.prod(shape):
            raise ValueError(f"an image of {shape} and OpenCV's type {image['mode']} has {len(values)} bytes")
        return values.reshape(shape).transpose(2, 0, 1)

    return found


def _lists(column: Any) -> Row:
    return lambda row: _nested(column[row].values) if column[row].is_valid else None


def _nested(values: Any) -> Any:
    """An array of a list's values; a ValueError if the lists in it aren't equally long, or something is missing."""
    if values.null_count:
        raise ValueError("it has missing values")
    if not _is_list(values.type):
        return values.to_numpy(zero_copy_only=False)
    return np.stack([_nested(value.values) for value in values])
