"""Recognizes the forms in which a program can pass data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset

from netdsl.data.batches.user_batches import Values, length_of
from netdsl.data.batches.user_rows import ArrayRows, DatasetRows, UserRows
from netdsl.data.sources.open_source import parse_source
from netdsl.data.sources.source import DataSplit
from netdsl.data.sources.source_name import Content
from netdsl.data.tables.table import Table
from netdsl.errors import DataError
from netdsl.storage.local_copies import with_local_paths


class SparkRows(Protocol):
    """The part of Spark's DataFrames and RDDs that type checkers need."""

    def unpersist(self, blocking: bool = False) -> Any:
        """Let Spark drop the rows from memory."""
        ...


UserData = Values | UserRows | Table
# The data that a program can pass; see `user_data_of`. A `Net` stores Spark's rows first.
AnyData = str | Path | Table | Mapping[str, Any] | Iterable[Any] | Callable[[], Any] | Dataset[Any] | SparkRows


def user_data_of(data: AnyData, *, training: bool) -> UserData:
    """Return data as rows, as a stream of batches or items, or as a table.

    Rows are a tuple of arrays or tensors in the order of the net's inputs, a mapping of arrays by blob names, a pandas
    DataFrame with a column for each blob, or a map-style torch Dataset. In training they are shuffled. An address of
    data, such as `lmdb:PATH` or `digits`, becomes a table, which is also shuffled in training. If the data set has
    parts for training and for tests, the table reads the matching part. Other iterables, including DataLoaders, and
    functions return batches or items in their own order. Raises a `DataError` for anything else.
    """
    if isinstance(data, (str, Path)):
        name = parse_source(with_local_paths(data) if isinstance(data, str) else str(data), Content.ITEMS)
        split = DataSplit.TRAIN if training else DataSplit.TEST
        return Table(str(name.with_split(split)), shuffle=training)
    if isinstance(data, Table):
        return data
    if length_of(data) == 0:
        raise DataError("the data are empty; pass a list with at least one batch or item")
    arrays = _arrays_of(data)
    if arrays is not None:
        return ArrayRows(arrays, shuffle=training)
    if isinstance(data, Dataset) and not isinstance(data, IterableDataset):
        return DatasetRows(data, shuffle=training)
    if callable(data) or isinstance(data, Iterable):
        return data
    raise DataError(
        f"a {type(data).__name__} isn't data; give a tuple of arrays, a dict of them by blob names, a DataFrame, an "
        "RDD, a DataLoader or Dataset, batches or items, a function that returns the next ones, a Table or an address"
    )


def is_of_spark(data: object) -> bool:
    """Return whether the data are a Spark RDD or DataFrame. This package doesn't import pyspark."""
    return type(data).__module__.partition(".")[0] == "pyspark"


def begin_again(data: UserData) -> bool:
    """Return whether the data can be read again from the beginning, also in another process."""
    return not (callable(data) or isinstance(data, Iterator))


def _arrays_of(data: object) -> Mapping[str, Any] | tuple[Any, ...] | None:
    """Return arrays with a row for each item, by blob names or in the order of blobs.

    Returns `None` if the data have another form.
    """
    pandas = sys.modules.get("pandas")  # a program that has a DataFrame has imported pandas
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return {str(name): data[name] for name in data.columns}
    if isinstance(data, Mapping):
        return data
    if isinstance(data, (np.ndarray, Tensor)):
        return (data,)
    is_tuple_of_arrays = isinstance(data, tuple) and any(isinstance(value, (np.ndarray, Tensor)) for value in data)
    return data if is_tuple_of_arrays else None  # type: ignore[return-value]
