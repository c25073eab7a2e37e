"""Tables, by name, and the columns that a net's blobs read."""

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
    """The rows of a source such as `arrow:FOLDER`, which fill all blobs of a net that come from outside.

    `columns` contains the columns of blobs. The default column has the blob's name. If a source has no named columns,
    or its name lists them as in `parquet:PATH?columns=A,B`, its arrays fill the blobs in their order.

    Rows come in their order, or shuffled again in each epoch, in an endless sequence. Each of K workers reads every
    K-th row of this sequence, and batches can cross the end of the table. So the number of rows and files doesn't
    matter: tables can have fewer rows than a batch or than workers, empty files, or a remainder. Only a table without
    rows is an error. In tests, one worker reads all rows.
    """

    source: str
    columns: Mapping[str, str] = field(default_factory=dict)
    shuffle: bool = False


@dataclass(frozen=True)
class BlobColumn:
    """A blob and its column, the shape of an item if the net states it, and the channels of decoded image files."""

    name: str
    column: str
    shape: Shape | None = None
    color: Color = Color.COLOR


def arrays_of(batch: Any, blobs: Sequence[BlobColumn], rows: RowRange) -> Arrays:
    """Return the items of the blobs in an Arrow batch. `rows` are the batch's rows in the table."""
    return {blob.name: ColumnValues(batch.column(blob.column), blob.column, rows, blob.shape).items() for blob in blobs}


def missing_rows(batch: Any, blobs: Sequence[BlobColumn]) -> Mask:
    """Return a mask of the rows of an Arrow batch in which a blob's value is null or contains a null."""
    missing = np.zeros(batch.num_rows, bool)
    for blob in blobs:
        missing |= ColumnValues(batch.column(blob.column), blob.column, RowRange("the table"), blob.shape).missing()
    return missing


def check_columns(names: Sequence[str], blobs: Sequence[BlobColumn], hint: str) -> None:
    """Raise a `DataError` if a blob's column isn't among the names. `hint` shows how users name another column."""
    for blob in blobs:
        if blob.column not in names:
            raise DataError(
                f"there is no column '{blob.column}' for blob '{blob.name}'; choose from {', '.join(names)} "
                f"with {hint.format(blob.name)}"
            )
