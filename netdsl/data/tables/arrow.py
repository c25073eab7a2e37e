"""Arrow, which is imported where it is needed: its errors, names of classes in its schemas, and Parquet."""

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
    """Return what the library raises for a file that is damaged."""
    return (arrow().ArrowException, LookupError, NotImplementedError, TypeError, ValueError)


def open_parquet(path: Path, head: Any = None) -> Any:
    """Return an open Parquet file, whose pages are compared with their checksums if it has some."""
    return arrow().parquet.ParquetFile(path, metadata=head, memory_map=True, page_checksum_verification=True)


def check_rows(rows: Any) -> Any:
    """Return the rows of a batch or a table, once all their values are known to be inside their memory; else an
    ArrowInvalid.

    The library checks nothing else, and a damaged file would end the process.
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
    """Return whether values of a type are Arrow's tensors, all of one shape."""
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
    """Return whether a column of a type has its different values once, and for each row the place of its value."""
    return bool(arrow().types.is_dictionary(kind))


def fields_of(kind: Any) -> set[str]:
    """Return the names of a struct's fields; none if it isn't one."""
    return {field.name for field in kind} if arrow().types.is_struct(kind) else set()


_KEY = b"huggingface"
_CLASSES = "ClassLabel"  # the type of a column whose numbers are classes with names


def class_names_of(schema: Any, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the classes in the first of these columns that has some; none if no column has any."""
    features = _features(schema)
    for column in columns:
        feature = features.get(column)
        names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == _CLASSES else None
        if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
            return tuple(names)
    return ()


def with_class_names(schema: Any, column: str, names: Sequence[str]) -> Any:
    """Return the schema with the names of the classes that a column's numbers are."""
    features = {**_features(schema), column: {"names": list(names), "_type": _CLASSES}}
    content = json.dumps({"info": {"features": features}}).encode()
    return schema.with_metadata({**(schema.metadata or {}), _KEY: content})


def _features(schema: Any) -> dict[str, Any]:
    """Return what is known about the columns; nothing if that is in another form."""
    try:
        content = json.loads((schema.metadata or {}).get(_KEY, b"{}"))
        features = content["info"]["features"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return {}
    return features if isinstance(features, dict) else {}


_BYTES = 1 << 24  # of a group of rows in Parquet


def column_of(array: Array) -> Any:
    """Return an Arrow column with an array's rows: numbers, tensors, or the bytes that an array of objects has."""
    if array.dtype == object:
        return arrow().array(list(array), arrow().binary())
    if array.ndim == 1:
        return arrow().array(array)
    return arrow().FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(array))


def write_parquet(path: Path, batches: Iterator[Any], done: Callable[[int], object]) -> int:
    """Write batches into a new file, whole or not at all; `done` hears of rows. At least one batch says the columns."""
    first, written = next(batches), 0
    with atomic_path(path) as temporary:
        try:
            with arrow().parquet.ParquetWriter(temporary, first.schema, write_page_checksum=True) as writer:
                for group in _groups(chain([first], batches)):
                    writer.write_table(group)
                    written += group.num_rows
                    done(group.num_rows)
        except arrow().ArrowException as problem:
            raise FileError(f"{path}: can't be written: {problem}") from None
    return written


def _groups(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of many batches, large enough to be worth a group of rows, and small enough for memory."""
    waiting, size = [], 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size > _BYTES:
            yield arrow().Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield arrow().Table.from_batches(waiting)
