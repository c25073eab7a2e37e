"""Rows of a program as files that other processes read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.errors import FileError
from caffe_proto.storage import atomic_path
from netdsl.data.batches.user_rows import UserRows
from netdsl.data.tables.arrow import arrow, column_of
from netdsl.data.tables.table import Table
from netdsl.errors import DataError

ROWS = "rows.arrow"
_AT_ONCE = 512  # rows


def store_rows(rows: UserRows, blobs: Sequence[str], folder: Path) -> Table:
    """Write the rows of some blobs into a folder, as a table in the same order; one that is there already is kept."""
    if (folder / ROWS).exists():
        return Table(f"arrow:{folder.resolve()}", shuffle=rows.shuffle)
    rows.choose(blobs)
    if not len(rows):
        raise DataError("there are no rows to learn from or to test on")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"{folder}: can't be made: {problem.strerror}") from None
    first = _batch_of(rows, blobs, 0)
    with atomic_path(folder / ROWS) as path, arrow().ipc.new_file(str(path), first.schema) as file:
        file.write_batch(first)
        for start in range(_AT_ONCE, len(rows), _AT_ONCE):
            file.write_batch(_batch_of(rows, blobs, start))
    return Table(f"arrow:{folder.resolve()}", shuffle=rows.shuffle)


def _batch_of(rows: UserRows, blobs: Sequence[str], start: int) -> Any:
    values = rows.take(np.arange(start, min(start + _AT_ONCE, len(rows))))
    columns = [column_of(np.asarray(values[blob])) for blob in blobs]
    return arrow().RecordBatch.from_arrays(columns, names=list(blobs))
