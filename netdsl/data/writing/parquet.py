"""Writes Parquet. Arrays are tensors of one shape, and encoded images have the form of Hugging Face's data sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from netdsl.data.tables.arrow import arrow, column_of, with_class_names
from netdsl.data.types import Array
from netdsl.data.writing.example import Example, Put
from netdsl.errors import DataError

_BYTES = 1 << 24  # rows in a row group, few enough to read rows out of order
_LABEL = "label"  # the column for an item's second array


@contextmanager
def parquet_writer(path: Path, classes: Sequence[str] = ()) -> Iterator[Put]:
    """Yield a function that adds rows to a new file, whose labels are classes with these names."""
    table = _Table(path, classes)
    try:
        yield table.put
        table.flush()
    finally:
        table.close()


class _Table:
    """A file that is being written. Its first row defines the columns."""

    def __init__(self, path: Path, classes: Sequence[str]) -> None:
        self._path, self._classes = path, classes
        self._schema: Any = None
        self._writer: Any = None
        self._rows: list[Example] = []
        self._size = 0

    def put(self, example: Example) -> None:
        """Add a row."""
        if self._schema is None:
            self._schema = self._schema_of(example)
            options = {"use_dictionary": False, "write_page_checksum": True}
            self._writer = arrow().parquet.ParquetWriter(self._path, self._schema, **options)
        elif self._schema != arrow().schema(_fields(example)):
            raise DataError(
                f"{example.name or f'item {example.position}'}: its arrays have other shapes or types than "
                "those of the first item; resize images with zoo data convert --resize, or keep them as files "
                "with --encoded"
            )
        self._rows.append(example)
        self._size += len(example.encoded or b"") or example.item[0].nbytes
        if self._size > _BYTES:
            self.flush()

    def _schema_of(self, example: Example) -> Any:
        schema = arrow().schema(_fields(example))
        return with_class_names(schema, _LABEL, self._classes) if self._classes and _LABEL in schema.names else schema

    def flush(self) -> None:
        """Write the collected rows as one row group."""
        if not self._rows:
            return
        columns = [_column(field.type, index, self._rows) for index, field in enumerate(self._schema)]
        self._writer.write_table(arrow().table(columns, schema=self._schema), row_group_size=len(self._rows))
        self._rows, self._size = [], 0

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()


def _fields(example: Example) -> list[tuple[str, Any]]:
    """Return the columns: an image or data, a label, and numbered columns for all other arrays."""
    names = ["data", _LABEL, *(f"array{index}" for index in range(2, len(example.item)))]
    fields = [(name, _type(array)) for name, array in zip(names, example.item, strict=False)]
    if example.encoded is not None:
        library = arrow()
        fields[0] = ("image", library.struct([("bytes", library.binary()), ("path", library.string())]))
    return fields


def _type(array: Array) -> Any:
    kind = arrow().from_numpy_dtype(array.dtype)
    return arrow().fixed_shape_tensor(kind, array.shape) if array.ndim else kind


def _column(kind: Any, index: int, rows: Sequence[Example]) -> Any:
    if arrow().types.is_struct(kind):
        return arrow().array([{"bytes": row.encoded, "path": _readable_name(row.name)} for row in rows], kind)
    return column_of(np.stack([row.item[index] for row in rows]))


def _readable_name(name: str) -> str | None:
    """Return a name as UTF-8, because names on disk can contain other bytes. Returns `None` for an empty name."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") or None
