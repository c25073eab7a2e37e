"""The Arrow library, and what its types of columns hold."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from caffe_proto.errors import import_extra


def arrow() -> Any:
    """The library, with the part that reads and writes Parquet."""
    import_extra("pyarrow.parquet", "data", "Parquet and Arrow files need pyarrow")
    return import_module("pyarrow")


@cache
def arrow_errors() -> tuple[type[Exception], ...]:
    """What the library raises for a file that is damaged."""
    return (arrow().ArrowException, LookupError, NotImplementedError, TypeError, ValueError)


def open_parquet(path: Path, head: Any = None) -> Any:
    """An open Parquet file, whose pages are compared with their checksums if it has some."""
    return arrow().parquet.ParquetFile(path, metadata=head, memory_map=True, page_checksum_verification=True)


def check_rows(rows: Any) -> Any:
    """The rows of a batch or a table, once all their values are known to be inside their memory; else an ArrowInvalid.

    The library checks nothing else, and a damaged file would end the process.
    """
    rows.validate(full=True)
    return rows


def is_number(kind: Any) -> bool:
    """Whether values of a type are numbers."""
    types = arrow().types
    return bool(types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def is_list(kind: Any) -> bool:
    """Whether values of a type are lists."""
    types = arrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_tensor(kind: Any) -> bool:
    """Whether values of a type are Arrow's tensors, all of one shape."""
    return isinstance(kind, arrow().FixedShapeTensorType)


def is_bytes(kind: Any) -> bool:
    """Whether values of a type are bytes."""
    types = arrow().types
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_binary_view(kind)
    )


def is_dictionary(kind: Any) -> bool:
    """Whether a column of a type has its different values once, and for each row the place of its value."""
    return bool(arrow().types.is_dictionary(kind))


def fields_of(kind: Any) -> set[str]:
    """The names of a struct's fields; none if it isn't one."""
    return {field.name for field in kind} if arrow().types.is_struct(kind) else set()
