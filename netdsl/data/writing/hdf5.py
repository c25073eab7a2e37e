"""Rows written to an HDF5 file, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caffe_proto.hdf5 import import_h5py
from netdsl.data.sources.source import Array
from netdsl.errors import DataError


class Hdf5Rows:
    """Data sets by name, in a new file that is complete after every batch."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._begun = False

    def add(self, arrays: Mapping[str, Array]) -> None:
        """Add rows to each data set."""
        try:
            with import_h5py().File(self._path, "r+" if self._begun else "w", libver="earliest") as file:
                for name, array in arrays.items():
                    self._extend(file, name, array)
        except (OSError, RuntimeError, ValueError) as problem:
            raise DataError(f"{self._path}: can't be written as HDF5: {problem}") from None
        self._begun = True

    def _extend(self, file: Any, name: str, array: Array) -> None:
        if not self._begun:
            file.create_dataset(name, data=array, maxshape=(None, *array.shape[1:]))
            return
        rows = file[name]
        if rows.shape[1:] != array.shape[1:]:
            raise DataError(f"{self._path}: a row of '{name}' is {array.shape[1:]}, those there are {rows.shape[1:]}")
        rows.resize(len(rows) + len(array), axis=0)
        rows[-len(array) :] = array
