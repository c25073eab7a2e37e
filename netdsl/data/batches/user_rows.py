"""Rows that a program passes in and that can be read by number: arrays, or a data set that returns single items."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from caffe_proto.storage import PRIVATE, atomic_path, create_folder
from netdsl.data.batches.user_batches import as_tensor, fitted, in_quotes, stacked, values_by_blob
from netdsl.data.sources.order import Order
from netdsl.data.sources.source import Indices
from netdsl.data.tables.arrow import arrow, column_of
from netdsl.data.tables.table import Table
from netdsl.data.types import Array, Shape
from netdsl.errors import DataError

_STORED, _AT_ONCE = "rows.arrow", 512  # the file of stored rows, and the number of rows in each write
USUAL_BATCH = 32  # items, if neither the net nor its user chooses a batch size


class UserRows(ABC):
    """Numbered items, in their order or, with `shuffle`, in a new order in each epoch."""

    def __init__(self, *, shuffle: bool = False) -> None:
        self.shuffle = shuffle

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of items."""

    @abstractmethod
    def choose(self, blobs: Sequence[str]) -> None:
        """Read these blobs of each item from now on. Raises a `DataError` if items don't contain them."""

    @abstractmethod
    def shapes(self) -> dict[str, Shape]:
        """Return the shapes of an item's blobs."""

    @abstractmethod
    def take(self, indices: Indices) -> dict[str, Any]:
        """Return the values of some items, by blob, stacked along a new first axis."""

    def store(self, blobs: Sequence[str], folder: Path) -> Table:
        """Write the values of some blobs into a folder, as a table that other processes read in the same order.

        An existing table is kept.
        """
        table, file = Table(f"arrow:{folder.resolve()}", shuffle=self.shuffle), folder / _STORED
        if file.exists():
            return table
        self.choose(blobs)
        if not len(self):
            raise DataError("the data have no rows to learn from or to test on; pass at least one row")
        create_folder(folder, PRIVATE)
        first = self._arrow_batch(blobs, 0)
        with atomic_path(file) as path, arrow().ipc.new_file(str(path), first.schema) as writer:
            writer.write_batch(first)
            for start in range(_AT_ONCE, len(self), _AT_ONCE):
                writer.write_batch(self._arrow_batch(blobs, start))
        return table

    def _arrow_batch(self, blobs: Sequence[str], start: int) -> Any:
        values = self.take(np.arange(start, min(start + _AT_ONCE, len(self))))
        columns = [column_of(np.asarray(values[blob])) for blob in blobs]
        return arrow().RecordBatch.from_arrays(columns, names=list(blobs))


class ArrayRows(UserRows):
    """Arrays or tensors, by the names of blobs or in the blobs' order. Each row is an item."""

    def __init__(self, values: Mapping[str, Any] | tuple[Any, ...], *, shuffle: bool = False) -> None:
        super().__init__(shuffle=shuffle)
        self._values = values
        self._arrays: dict[str, Array] = {}

    def __len__(self) -> int:
        return len(next(iter(self._arrays.values())))

    def choose(self, blobs: Sequence[str]) -> None:
        """Convert the values for these blobs to arrays, which must be equally long."""
        if isinstance(self._values, tuple) and len(self._values) > len(blobs):
            raise DataError(
                f"the net reads {in_quotes(blobs)}, but the data have {len(self._values)} arrays; leave out the "
                "columns that the net doesn't read"
            )
        values = values_by_blob(self._values, blobs)
        self._arrays = {name: _array(name, value) for name, value in values.items()}
        first, *others = self._arrays
        for name in others:
            if len(self._arrays[name]) != len(self):
                raise DataError(
                    f"'{first}' has {len(self)} rows, but '{name}' has {len(self._arrays[name])}; give both the "
                    "same number"
                )
        if not len(self):
            raise DataError(f"the data are empty: '{first}' has no rows; pass at least one row")

    def shapes(self) -> dict[str, Shape]:
        """Return the shapes of the arrays' rows."""
        return {name: array.shape[1:] for name, array in self._arrays.items()}

    def take(self, indices: Indices) -> dict[str, Any]:
        """Return copies of the rows with these numbers. Layers may overwrite them."""
        return {name: array[indices] for name, array in self._arrays.items()}


class DatasetRows(UserRows):
    """A map-style data set, such as torch's: `dataset[number]` contains arrays by blob names or in the blobs' order.

    Items are read in the training thread, so that a data set with random changes draws the same numbers in each run.
    """

    def __init__(self, dataset: Any, *, shuffle: bool = False) -> None:
        super().__init__(shuffle=shuffle)
        self._dataset = dataset
        self._blobs: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self._dataset)

    def choose(self, blobs: Sequence[str]) -> None:
        """Read these blobs of each item from now on."""
        self._blobs = tuple(blobs)

    def shapes(self) -> dict[str, Shape]:
        """Return the shapes of the first item's blobs."""
        return {name: tuple(np.shape(value)) for name, value in self._item(0).items()}

    def take(self, indices: Indices) -> dict[str, Any]:
        """Return the items with these numbers, stacked."""
        items = [self._item(index) for index in indices.tolist()]
        return {name: stacked(name, [item[name] for item in items]) for name in self._blobs}

    def _item(self, index: int) -> dict[str, Any]:
        return values_by_blob(self._dataset[index], self._blobs)


class RowBatches(Iterator[tuple[Tensor, ...]]):
    """An endless iterator over batches of rows, for blobs of these shapes. After the last row, the first row follows.

    Each row occurs once in an epoch, in an order that depends on the seed and the epoch. So a batch depends only on its
    number. It can contain the last rows of an epoch and the first rows of the next.
    """

    def __init__(self, rows: UserRows, shapes: Mapping[str, Shape], batch: int, seed: int = 0) -> None:
        if batch < 1:
            raise DataError(f"the batch size is {batch}; set it to 1 or more")
        rows.choose(list(shapes))
        self._rows, self._batch = rows, batch
        self._order = Order((len(rows),), rows.shuffle, seed)
        own = rows.shapes()
        self.shapes = {name: fitted(name, (batch, *own[name]), _stated(shape, batch)) for name, shape in shapes.items()}
        self.position = 0
        self.waited = 0.0

    def __next__(self) -> tuple[Tensor, ...]:
        start = time.perf_counter()
        values = self._rows.take(self._order.indices(self.position * self._batch, self._batch))
        tensors = {name: as_tensor(name, value) for name, value in values.items()}
        for name, tensor in tensors.items():
            fitted(name, tuple(tensor.shape), self.shapes[name])
        self.waited += time.perf_counter() - start
        self.position += 1
        return tuple(tensors[name].reshape(shape) for name, shape in self.shapes.items())

    def epoch_batches(self) -> Fraction:
        """Return how many batches all rows fill."""
        return Fraction(len(self._rows), self._batch)

    def seek(self, position: int) -> None:
        """Continue with the batch of this number."""
        self.position = position

    def close(self) -> None:
        """Do nothing, because no file or thread is open."""


def _stated(shape: Shape, batch: int) -> Shape | None:
    """Return the shape that a net states, with this batch size, or `None` if the net doesn't state all of it."""
    return (batch, *shape[1:]) if shape and min(shape[1:], default=0) >= 0 else None


def _array(name: str, values: Any) -> Array:
    """Return an array from an array, a tensor, or a list or column of numbers or arrays."""
    if isinstance(values, Tensor):
        tensor = values.detach().cpu()
        values = (tensor.float() if tensor.is_floating_point() else tensor).numpy()
    try:
        array: Array = np.asarray(values)
        array = np.stack([np.asarray(value) for value in values]) if array.dtype == object else array
    except ValueError as problem:
        raise DataError(
            f"'{name}' isn't an array of numbers: {problem}; convert it, as with np.asarray(values, np.float32)"
        ) from None
    if not array.ndim or array.dtype.kind not in "biuf":
        raise DataError(
            f"'{name}' isn't an array of numbers with a row for each item, but has type {array.dtype}; convert "
            "it, as with np.asarray(values, np.float32)"
        )
    return array
