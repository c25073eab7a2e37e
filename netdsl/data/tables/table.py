"""Tables by their names, and what a net's blobs get from their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from netdsl.data.tables.columns import ColumnValues, Mask, RowRange, Shape
from netdsl.data.transforms.decode import Color
from netdsl.data.types import Array
from netdsl.errors import DataError

Arrays = dict[str, Array]  # rows of values by the names of blobs


@dataclass(frozen=True)
class Table:
    """All blobs of a net that come from outside, taken from the rows of a source such as `arrow:FOLDER`.

    `columns` says which column a blob is; one that isn't named there is the column of its own name. The arrays of a
    source without named columns, or whose name lists them already as in `parquet:PATH?columns=A,B`, are the blobs in
    their order.

    Rows come in their order, or shuffled again each time, again and again without an end. Each of K workers takes every
    K-th row of that one sequence, and batches go on over the table's end. So it doesn't matter how many rows there are,
    or in how many files they are stored: fewer rows than a batch or than workers, empty files and remainders are all
    the same. Only a table without any row is an error. When a net is tested, one worker takes all rows.
    """

    source: str
    columns: Mapping[str, str] = field(default_factory=dict)
    shuffle: bool = False


@dataclass(frozen=True)
class BlobColumn:
    """A blob and its column, the shape of an item if the net says it, and what image files are decoded to."""

    name: str
    column: str
    shape: Shape | None = None
    color: Color = Color.COLOR


def arrays_of(batch: Any, blobs: Sequence[BlobColumn], rows: RowRange) -> Arrays:
    """Return the items of the blobs in an Arrow batch, which has these rows of a table."""
    return {blob.name: ColumnValues(batch.column(blob.column), blob.column, rows, blob.shape).items() for blob in blobs}


def missing_rows(batch: Any, blobs: Sequence[BlobColumn]) -> Mask:
    """Return which rows of an Arrow batch have no value for a blob, or a null in it."""
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
