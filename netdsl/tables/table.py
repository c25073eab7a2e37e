"""A table as a net's data: which of its columns are which blobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """All blobs of a net that come from outside, taken from the rows of a source such as `arrow:FOLDER`.

    `columns` says which column a blob is; one that isn't named there is the column of its own name. The arrays of a
    source without named columns, or whose name lists them already as in `parquet:PATH?columns=A,B`, are the blobs in
    their order.

    Rows come in their order, or shuffled anew each time, again and again without an end. Each of K workers takes every
    K-th row of that one sequence, and batches go on over the table's end. So it doesn't matter how many
    rows there are, nor in how many files they lie: fewer rows than a batch or than workers, empty files and remainders
    are all the same. Only a table without any row is an error. When a net is tested, one worker takes all rows.
    """

    source: str
    columns: Mapping[str, str] = field(default_factory=dict)
    shuffle: bool = False
