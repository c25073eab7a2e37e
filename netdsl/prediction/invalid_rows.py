"""Rows of a table whose values, or what a net makes of them, aren't finite: no class can be predicted for these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from netdsl.data.types import Array
from netdsl.tables.binding import Arrays, BlobColumn
from netdsl.tables.columns import RowRange

Mask = NDArray[np.bool_]

_ADVICE = "correct it, or skip or keep such rows, by handleInvalid on Spark and --invalid on the command line"


class InvalidRows(Enum):
    """What becomes of rows that aren't finite: an error, no row, or a row whose new columns are NaN."""

    ERROR = "error"
    SKIP = "skip"
    KEEP = "keep"


def finite_rows(values: Array) -> Mask:
    """Which rows are finite. Encoded images are; their pixels are whole numbers."""
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
