"""Invalid rows of a table: rows with a null, or with an input or output that isn't finite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from netdsl.data.tables.arrow import arrow
from netdsl.data.tables.columns import Mask, RowRange
from netdsl.data.tables.table import Arrays, BlobColumn, missing_rows
from netdsl.data.types import Array

_ADVICE = "correct it, or skip or keep such rows with handleInvalid on Spark or --invalid on the command line"


class InvalidRows(Enum):
    """The treatment of rows that contain nulls or values that aren't finite.

    The choices are an error, leaving out the row, and keeping the row with NaN in the new columns.
    """

    ERROR = "error"
    SKIP = "skip"
    KEEP = "keep"


def without_missing(batch: Any, blobs: Sequence[BlobColumn], invalid: InvalidRows) -> tuple[Any, Mask]:
    """Return the batch with another row in place of each row that has nulls, and a mask of those rows.

    The replacement keeps the numbers of all other rows. Nothing is replaced if invalid rows are errors, because reading
    them raises one. If all rows have nulls, the batch is empty.
    """
    missing = np.zeros(batch.num_rows, bool) if invalid is InvalidRows.ERROR else missing_rows(batch, blobs)
    if not missing.any():
        return batch, missing
    if missing.all():
        return batch.slice(0, 0), missing
    return batch.take(arrow().array(np.where(missing, missing.argmin(), np.arange(len(missing))))), missing


def finite_rows(values: Array) -> Mask:
    """Return a mask of the rows that are finite. Encoded images are always finite, because their pixels are whole
    numbers."""
    if values.dtype == object:
        return np.array([isinstance(row, bytes) or bool(np.isfinite(row).all()) for row in values], bool)
    if values.dtype.kind != "f":
        return np.ones(len(values), bool)
    return np.asarray(np.isfinite(values).all(tuple(range(1, values.ndim))))


def check_inputs(arrays: Arrays, blobs: Sequence[BlobColumn], rows: RowRange) -> None:
    """Raise a `DataError` that names the first row with an input that isn't finite."""
    for blob in blobs:
        rows.check(blob.column, ~finite_rows(arrays[blob.name]), f"has a value that isn't finite; {_ADVICE}")


def check_outputs(outputs: Mapping[str, Array], rows: RowRange) -> None:
    """Raise a `DataError` that names the first row with an output that isn't finite.

    `outputs` contains the values by the names of their columns.
    """
    for name, values in outputs.items():
        rows.check(name, ~finite_rows(values), f"isn't finite, although its inputs are; {_ADVICE}")
