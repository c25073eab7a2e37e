"""Rows of HDF5 files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.hdf5 import import_h5py
from netdsl.data.batches.gather import gathered
from netdsl.data.sources.listing import numbered_lines
from netdsl.data.sources.source import Array, Indices, Item
from netdsl.errors import DataError

Shape = tuple[int, ...]


class Hdf5Source:
    """The rows of all files of a list, one file after the other; an item is a row of each data set that is named.

    As in Caffe one file is in memory at a time. Who shuffles should shuffle files, and rows within them: `rows` has
    how many each file has.
    """

    def __init__(self, path: str | Path, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._files = [name for _, line in numbered_lines(path) for name in line.split()]
        if not self._files:
            raise DataError(f"{path}: the list is empty")
        shapes = [self._shapes(file) for file in self._files]
        for file, found in zip(self._files, shapes, strict=True):
            self._check(file, found, shapes[0])
        self.rows = tuple(found[0][0] for found in shapes)
        self._ends = np.cumsum(self.rows, dtype=np.int64)
        if not len(self):
            raise DataError(f"{path}: its files have no rows")
        self._loaded, self._arrays = -1, list[Array]()

    def _shapes(self, path: str) -> list[Shape]:
        with _opened(path) as file:
            return [_dataset(file, name, path).shape for name in self._names]

    def _check(self, path: str, shapes: list[Shape], first: list[Shape]) -> None:
        for name, shape, model in zip(self._names, shapes, first, strict=True):
            if shape[0] != shapes[0][0]:
                raise DataError(f"{path}: '{name}' has {shape[0]} rows, '{self._names[0]}' has {shapes[0][0]}")
            if shape[1:] != model[1:]:
                raise DataError(f"{path}: a row of '{name}' is {shape[1:]}, in {self._files[0]} it is {model[1:]}")

    def __len__(self) -> int:
        return int(self._ends[-1])

    def fetch(self, index: int) -> Item:
        """One row of each data set."""
        which = int(np.searchsorted(self._ends, index, side="right"))
        row = index - int(self._ends[which])
        return tuple(array[row] for array in self._file(which))

    def take(self, indices: Indices) -> Item | None:
        """Many rows of each, copied, since views would keep a file in memory after the next is read."""
        found = gathered(indices, self._ends, self._file)
        return None if found is None else tuple(np.array(rows) for rows in found)

    def _file(self, which: int) -> list[Array]:
        if which != self._loaded:
            self._arrays, self._loaded = [], -1  # the old file's memory is given back first
            self._arrays, self._loaded = self._load(self._files[which]), which
        return self._arrays

    def _load(self, path: str) -> list[Array]:
        with _opened(path) as file:
            return [_dataset(file, name, path).astype(np.float32)[()] for name in self._names]

    def item(self, fetched: Item) -> Item:
        """The row as it is."""
        return fetched

    def close(self) -> None:
        """Let go of the file in memory."""
        self._arrays, self._loaded = [], -1


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    try:
        with import_h5py().File(path, "r") as file:
            yield file
    except MemoryError:
        raise DataError(f"{path}: is too big for the memory; split it into several files") from None
    except (OSError, RuntimeError, LookupError, ValueError, TypeError) as problem:
        raise DataError(f"{path}: can't be read as HDF5: {problem}") from None


def _dataset(file: Any, name: str, path: str) -> Any:
    found = file.get(name)
    if not isinstance(found, import_h5py().Dataset):
        raise DataError(f"{path}: has no data set '{name}'; it has {', '.join(sorted(file)) or 'nothing'}")
    if found.dtype.kind not in "fiu" or not found.shape:
        raise DataError(f"{path}: '{name}' is {found.dtype} of shape {found.shape}; Caffe takes rows of numbers")
    return found
