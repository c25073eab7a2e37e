"""Arrow, which is imported on first use: its errors, the names of classes in its schemas, and Parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.errors import FileError, import_extra
from caffe_proto.storage import atomic_path
from netdsl.data.types import Array


def arrow() -> Any:
    """Return the library, with the part that reads and writes Parquet."""
    import_extra("pyarrow.parquet", "data", "Parquet and Arrow files need pyarrow")
    return import_module("pyarrow")


@cache
def arrow_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that the library raises for damaged files."""
    return (arrow().ArrowException, LookupError, NotImplementedError, TypeError, ValueError)


def open_parquet(path: Path, head: Any = None) -> Any:
    """Return an open Parquet file. Pages are verified if they have checksums."""
    return arrow().parquet.ParquetFile(path, metadata=head, memory_map=True, page_checksum_verification=True)


def check_rows(rows: Any) -> Any:
    """Return the rows of a batch or a table after checking that their values are inside their memory.

    Otherwise, a damaged file could crash the process, because the library doesn't check this itself. Raises an
    ArrowInvalid.
    """
    rows.validate(full=True)
    return rows


def is_number(kind: Any) -> bool:
    """Return whether values of a type are numbers."""
    types = arrow().types
    return bool(types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def is_list(kind: Any) -> bool:
    """Return whether values of a type are lists."""
    types = arrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_tensor(kind: Any) -> bool:
    """Return whether values of a type are Arrow's tensors, which have a common shape."""
    return isinstance(kind, arrow().FixedShapeTensorType)


def is_bytes(kind: Any) -> bool:
    """Return whether values of a type are bytes."""
    types = arrow().types
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_binary_view(kind)
    )


def is_dictionary(kind: Any) -> bool:
    """Return whether a column stores its distinct values once, and an index into them for each row."""
    return bool(arrow().types.is_dictionary(kind))


def fields_of(kind: Any) -> set[str]:
    """Return the names of a struct's fields. The result is empty for other types."""
    return {field.name for field in kind} if arrow().types.is_struct(kind) else set()


_KEY = b"huggingface"
_CLASSES = "ClassLabel"  # the type of a column whose numbers are named classes


def class_names_of(schema: Any, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the classes in the first of these columns that has any. The result is empty if no column has
    any."""
    features = _features(schema)
    for column in columns:
        feature = features.get(column)
        names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == _CLASSES else None
        if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
            return tuple(names)
    return ()


def with_class_names(schema: Any, column: str, names: Sequence[str]) -> Any:
    """Return the schema with the names of the classes that a column's numbers stand for."""
    features = {**_features(schema), column: {"names": list(names), "_type": _CLASSES}}
    content = json.dumps({"info": {"features": features}}).encode()
    return schema.with_metadata({**(schema.metadata or {}), _KEY: content})


def _features(schema: Any) -> dict[str, Any]:
    """Return the metadata of the columns. The result is empty if the metadata have another form."""
    try:
        content = json.loads((schema.metadata or {}).get(_KEY, b"{}"))
        features = content["info"]["features"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return {}
    return features if isinstance(features, dict) else {}


_BYTES = 1 << 24  # bytes of a row group in Parquet


def column_of(array: Array) -> Any:
    """Return an Arrow column with an array's rows: numbers, tensors, or the bytes in an array of objects."""
    if array.dtype == object:
        return arrow().array(list(array), arrow().binary())
    if array.ndim == 1:
        return arrow().array(array)
    return arrow().FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(array))


def write_parquet(path: Path, batches: Iterator[Any], done: Callable[[int], object]) -> int:
    """Write batches into a new file, which appears only when it is complete. Returns the number of rows.

    `done` is called with the number of rows in each group. The first batch, which must exist, defines the columns.
    """
    first, written = next(batches), 0
    with atomic_path(path) as temporary:
        try:
            with arrow().parquet.ParquetWriter(temporary, first.schema, write_page_checksum=True) as writer:
                for group in _groups(chain([first], batches)):
                    writer.write_table(group)
                    written += group.num_rows
                    done(group.num_rows)
        except arrow().ArrowException as problem:
            raise FileError(
                f"{path}: can't be written: {problem}; choose a folder that you can write to, or free space there"
            ) from None
    return written


def _groups(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield tables of several batches. They are large enough for a row group and small enough for memory."""
    waiting, size = [], 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size > _BYTES:
            yield arrow().Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield arrow().Table.from_batches(waiting)
