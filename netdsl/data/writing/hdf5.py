"""Writes HDF5 files batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caffe_proto.addresses import local_path
from caffe_proto.hdf5 import import_h5py
from netdsl.data.types import Array
from netdsl.errors import DataError


class Hdf5Rows:
    """A new HDF5 file with named data sets. It can be read after every batch."""

    def __init__(self, path: str | Path) -> None:
        self._path = local_path(path)
        self._created = False

    def add(self, arrays: Mapping[str, Array]) -> None:
        """Append rows to each data set."""
        try:
            with import_h5py().File(self._path, "r+" if self._created else "w", libver="earliest") as file:
                for name, array in arrays.items():
                    self._extend(file, name, array)
        except (OSError, RuntimeError, ValueError) as problem:
            raise DataError(
                f"{self._path}: can't be written as HDF5: {problem}; choose a folder that you can write to, "
                "or free space there"
            ) from None
        self._created = True

    def _extend(self, file: Any, name: str, array: Array) -> None:
        if not self._created:
            file.create_dataset(name, data=array, maxshape=(None, *array.shape[1:]))
            return
        rows = file[name]
        if rows.shape[1:] != array.shape[1:]:
            raise DataError(
                f"{self._path}: a row of '{name}' has shape {array.shape[1:]}, but earlier rows have "
                f"{rows.shape[1:]}; give all rows one shape, for example with --resize"
            )
        rows.resize(len(rows) + len(array), axis=0)
        rows[-len(array) :] = array
