"""Rows of a table with values that are null, or that aren't finite as what a net makes of them: they have no class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from netdsl.data.tables.arrow import arrow
from netdsl.data.tables.columns import Mask, RowRange
from netdsl.data.tables.table import Arrays, BlobColumn, missing_rows
from netdsl.data.types import Array

_ADVICE = "correct it, or skip or keep such rows, by handleInvalid on Spark and --invalid on the command line"


class InvalidRows(Enum):
    """What becomes of rows that are null or not finite: an error, no row, or a row whose new columns are NaN."""

    ERROR = "error"
    SKIP = "skip"
    KEEP = "keep"


def without_missing(batch: Any, blobs: Sequence[BlobColumn], invalid: InvalidRows) -> tuple[Any, Mask]:
    """Return the batch with another row in place of those without values, so that the rest keep their numbers; and
    which.

    Where rows are errors none is replaced, so that reading them raises one. If all lack values there is no other row.
    """
    missing = np.zeros(batch.num_rows, bool) if invalid is InvalidRows.ERROR else missing_rows(batch, blobs)
    if not missing.any():
        return batch, missing
    if missing.all():
        return batch.slice(0, 0), missing
    return batch.take(arrow().array(np.where(missing, missing.argmin(), np.arange(len(missing))))), missing


def finite_rows(values: Array) -> Mask:
    """Return which rows are finite. Encoded images are; their pixels are whole numbers."""
    if values.dtype == object:
        return np.array([isinstance(row, bytes) or bool(np.isfinite(row).all()) for row in values], bool)
    if values.dtype.kind != "f":
        return np.ones(len(values), bool)
    return np.asarray(np.isfinite(values).all(tuple(range(1, values.ndim))))


def check_inputs(arrays: Arrays, blobs: Sequence[BlobColumn], rows: RowRange) -> None:
    """Raise a DataError about the first row with an input that isn't finite."""
    for blob in blobs:
        rows.check(blob.column, ~finite_rows(arrays[blob.name]), f"has a value that isn't finite; {_ADVICE}")


def check_outputs(outputs: Mapping[str, Array], rows: RowRange) -> None:
    """Raise a DataError about the first row with an output, by the name of its column, that isn't finite."""
    for name, values in outputs.items():
        rows.check(name, ~finite_rows(values), f"isn't finite, although its inputs are; {_ADVICE}")
