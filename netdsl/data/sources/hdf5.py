"""Reads rows of HDF5 files, whose paths are in a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.errors import BinaryError
from caffe_proto.hdf5 import StoredValues, import_h5py, member
from caffe_proto.limits import Limit
from netdsl.data.sources.arrays import gather_rows
from netdsl.data.sources.class_names import class_names_in
from netdsl.data.sources.files import file_errors, listed_lines, regular_file
from netdsl.data.sources.source import Indices, Item
from netdsl.data.types import Array, Shape
from netdsl.errors import DataError


class Hdf5Source:
    """The rows of all files in a list, one file after the other. An item is a row of each of the named data sets.

    As in Caffe, only one file is in memory at a time. So shuffling should permute the files, and the rows within each
    file. `rows` is the number of rows of each file.
    """

    def __init__(self, path: str | Path, names: Sequence[str]) -> None:
        self.array_names = self._names = tuple(names)
        self._files = [name for _, line in listed_lines(path) for name in line.split()]
        Limit.LIST_FILES.check(len(self._files), f"{path}: the list")
        shapes = [self._shapes(file) for file in self._files]
        for file, file_shapes in zip(self._files, shapes, strict=True):
            self._check_lengths(file, file_shapes, shapes[0])
        self.rows = tuple(file_shapes[0][0] for file_shapes in shapes)
        self._ends = np.cumsum(self.rows, dtype=np.int64)
        if not len(self):
            raise DataError(f"{path}: its files have no rows; list files that have some")
        self._loaded, self._arrays = -1, list[Array]()
        self.classes = class_names_in(Path(path).parent)

    def _shapes(self, path: str) -> list[Shape]:
        with open_hdf5(path) as file:
            return [dataset.shape for dataset in _datasets(file, self._names, path)]

    def _check_lengths(self, path: str, shapes: list[Shape], first_shapes: list[Shape]) -> None:
        for name, shape, first in zip(self._names, shapes, first_shapes, strict=True):
            if shape[0] != shapes[0][0]:
                raise DataError(
                    f"{path}: '{name}' has {shape[0]} rows, but '{self._names[0]}' has {shapes[0][0]}; write "
                    "the same number of rows of both"
                )
            if shape[1:] != first[1:]:
                raise DataError(
                    f"{path}: a row of '{name}' is {shape[1:]}, but in {self._files[0]} it is {first[1:]}; "
                    "write rows of this shape in all files"
                )

    def __len__(self) -> int:
        return int(self._ends[-1])

    def fetch(self, index: int) -> Item:
        """Return one row of each data set."""
        file = int(np.searchsorted(self._ends, index, side="right"))
        row = index - int(self._ends[file])
        return tuple(array[row] for array in self._arrays_of(file))

    def take(self, indices: Indices) -> Item | None:
        """Return copies of many rows of each data set. Views would keep a file in memory when the next one is read."""
        arrays = gather_rows(indices, self._ends, self._arrays_of)
        return None if arrays is None else tuple(np.array(rows) for rows in arrays)

    def _arrays_of(self, file: int) -> list[Array]:
        if file != self._loaded:
            self._arrays, self._loaded = [], -1  # frees the previous file's memory first
            self._arrays, self._loaded = self._load(self._files[file]), file
        return self._arrays

    def _load(self, path: str) -> list[Array]:
        with open_hdf5(path) as file:
            return [dataset.astype(np.float32)[()] for dataset in _datasets(file, self._names, path)]

    def item(self, fetched: Item) -> Item:
        """Return the item, which fetching has completed."""
        return fetched

    def close(self) -> None:
        """Free the memory of the current file."""
        self._arrays, self._loaded = [], -1


@contextmanager
def open_hdf5(path: str | Path) -> Iterator[Any]:
    """Yield an open file. Errors name its path."""
    try:
        with file_errors(path, BinaryError), import_h5py().File(regular_file(path), "r") as file:
            yield file
    except (RuntimeError, LookupError, ArithmeticError, ValueError, TypeError) as problem:
        raise DataError(
            f"{path}: can't be read as HDF5: {problem}; check it with `h5ls`, and write or download it again"
        ) from None


def _datasets(file: Any, names: Sequence[str], path: str) -> list[Any]:
    """Return the data sets of a file. Their values fit into the memory that the file may use."""
    datasets, stored = [_dataset(file, name, path) for name in names], StoredValues()
    for name, dataset in zip(names, datasets, strict=True):
        stored.charge(dataset, f"'{name}'", np.dtype(np.float32).itemsize)
    return datasets


def _dataset(file: Any, name: str, path: str) -> Any:
    dataset = file
    for part in name.strip("/").split("/"):
        dataset = member(dataset, part) if isinstance(dataset, import_h5py().Group) and part in dataset else None
    if not isinstance(dataset, import_h5py().Dataset):
        raise DataError(
            f"{path}: the file has no data set '{name}'; choose from {', '.join(sorted(file)) or 'nothing'}"
        )
    if dataset.dtype.kind not in "fiu" or not dataset.shape:
        raise DataError(
            f"{path}: '{name}' is {dataset.dtype} of shape {dataset.shape}; Caffe reads rows of numbers, so "
            "store an array of numbers with a first axis for the rows"
        )
    return dataset
