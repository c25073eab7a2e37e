"""Tables written: arrays as columns, and batches of rows as a Parquet file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.errors import FileError
from caffe_proto.storage import atomic_path
from netdsl.data.types import Array
from netdsl.tables.arrow import arrow

_BYTES = 1 << 24  # of a group of rows in Parquet


def column_of(array: Array) -> Any:
    """An Arrow column with an array's rows: numbers, tensors, or the bytes that an array of objects has."""
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
