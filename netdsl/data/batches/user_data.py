"""Data in whatever form a program has them, each told apart once."""

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


class SparkRows(Protocol):
    """A DataFrame or an RDD of Spark's, as far as type checkers must know."""

    def unpersist(self, blocking: bool = False) -> Any:
        """Let Spark keep the rows no longer."""
        ...


UserData = Values | UserRows | Table
# What a program may give: see `user_data_of`; a `Net` has the rows of Spark's stored first.
AnyData = str | Path | Table | Mapping[str, Any] | Iterable[Any] | Callable[[], Any] | Dataset[Any] | SparkRows


def user_data_of(data: AnyData, *, training: bool) -> UserData:
    """Data as rows, as batches or items one after the other, or as a table; a DataError for what is none of them.

    Rows are a tuple of arrays or tensors in the order of the net's inputs, a mapping of such by blob names, a pandas
    DataFrame with a column for each blob, or a Dataset of torch's whose items have numbers. In training they are
    shuffled. An address of data, such as `lmdb:PATH` or `digits`, is a table, shuffled in training too, of the part of
    a data set that is for training or for tests if it has such parts. Other iterables, a DataLoader of torch's among
    them, and functions give batches or items in their own order.
    """
    if isinstance(data, (str, Path)):
        name = parse_source(str(data), Content.ITEMS)
        split = DataSplit.TRAIN if training else DataSplit.TEST
        return Table(str(name.with_split(split)), shuffle=training)
    if isinstance(data, Table):
        return data
    if length_of(data) == 0:
        raise DataError("the data are empty: the list of batches or items is empty")
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
    """Return whether data are an RDD or a DataFrame of Spark's, which this room doesn't import."""
    return type(data).__module__.partition(".")[0] == "pyspark"


def begin_again(data: UserData) -> bool:
    """Return whether data can be read again from their beginning, in another program too."""
    return not (callable(data) or isinstance(data, Iterator))


def _arrays_of(data: object) -> Mapping[str, Any] | tuple[Any, ...] | None:
    """Arrays with a row for each item, by blob names or in the order of blobs; None if the data are something else."""
    pandas = sys.modules.get("pandas")  # a program that has a DataFrame has imported it
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return {str(name): data[name] for name in data.columns}
    if isinstance(data, Mapping):
        return data
    if isinstance(data, (np.ndarray, Tensor)):
        return (data,)
    is_tuple_of_arrays = isinstance(data, tuple) and any(isinstance(value, (np.ndarray, Tensor)) for value in data)
    return data if is_tuple_of_arrays else None  # type: ignore[return-value]
