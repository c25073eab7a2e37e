"""Arrow's columns as arrays and the bytes of encoded images, row by row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from caffe_proto.errors import MissingExtraError

Row = Callable[[int], Any]  # what a column has in a row: an array, bytes, or None
Maker = Callable[[Any], Row]


@cache
def arrow() -> Any:
    """The library, with the part that reads and writes Parquet."""
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtraError("Parquet files need pyarrow: pip install 'netdsl[data]'") from None
    return import_module("pyarrow")


def rows_of(kind: Any) -> Maker | None:
    """How the rows of a column of an Arrow type are read; None if they can't be arrays or images."""
    types = arrow().types
    if isinstance(kind, arrow().FixedShapeTensorType):
        return _tensors
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return _numbers
    if types.is_binary(kind) or types.is_large_binary(kind):
        return _bytes
    if types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        return _images
    if _is_list(kind):
        return _lists
    return None


def _is_list(kind: Any) -> bool:
    types = arrow().types
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return False
    return _is_list(kind.value_type) or rows_of(kind.value_type) is _numbers


def _tensors(column: Any) -> Row:
    values, there = column.to_numpy_ndarray(), _there(column)
    return lambda row: values[row] if there[row] else None


def _numbers(column: Any) -> Row:
    there = _there(column)
    values = column.fill_null(False if arrow().types.is_boolean(column.type) else 0).to_numpy(zero_copy_only=False)
    return lambda row: np.asarray(values[row]) if there[row] else None


def _bytes(column: Any) -> Row:
    return lambda row: column[row].as_py()


def _images(column: Any) -> Row:
    """Hugging Face's images: a struct of the bytes and the path that they came from."""
    return lambda row: (column[row].as_py() or {}).get("bytes")


def _lists(column: Any) -> Row:
    return lambda row: _nested(column[row].values) if column[row].is_valid else None


def _nested(values: Any) -> Any:
    """An array of a list's values; a ValueError if the lists in it aren't equally long, or something is missing."""
    if values.null_count:
        raise ValueError("it has missing values")
    if not _is_list(values.type):
        return values.to_numpy(zero_copy_only=False)
    return np.stack([_nested(value.values) for value in values])


def _there(column: Any) -> Any:
    return column.is_valid().to_numpy(zero_copy_only=False)
