"""The blobs that come from outside, bound to the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from netdsl.data.transforms.decode import Color
from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.tables.column_readers import Mask, Shape
from netdsl.tables.columns import ColumnValues, RowRange

Arrays = dict[str, Array]  # rows of values by the names of blobs


@dataclass(frozen=True)
class BlobColumn:
    """A blob and its column, the shape of an item if the net says it, and what image files are decoded to."""

    name: str
    column: str
    shape: Shape | None = None
    color: Color = Color.COLOR


def arrays_of(batch: Any, blobs: Sequence[BlobColumn], rows: RowRange) -> Arrays:
    """The items of the blobs in an Arrow batch, which has these rows of a table."""
    return {blob.name: ColumnValues(batch.column(blob.column), blob.column, rows, blob.shape).items() for blob in blobs}


def missing_rows(batch: Any, blobs: Sequence[BlobColumn]) -> Mask:
    """Which rows of an Arrow batch have no value for a blob, or a null in it."""
    missing = np.zeros(batch.num_rows, bool)
    for blob in blobs:
        missing |= ColumnValues(batch.column(blob.column), blob.column, RowRange("the table"), blob.shape).missing()
    return missing


def check_columns(names: Sequence[str], blobs: Sequence[BlobColumn], hint: str) -> None:
    """A DataError if a blob's column isn't among the names; the hint says how one names another."""
    for blob in blobs:
        if blob.column not in names:
            raise DataError(
                f"there is no column '{blob.column}' for blob '{blob.name}'; there are {', '.join(names)}; "
                f"say which one it is with {hint.format(blob.name)}"
            )
