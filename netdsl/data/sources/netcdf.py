"""NetCDF files: variables whose first dimension counts the items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.errors import import_extra
from caffe_proto.hdf5 import SIGNATURE, check_stored, member
from netdsl.data.sources.arrays import as_top
from netdsl.data.sources.file_errors import file_errors, regular_file
from netdsl.data.sources.gather import as_slice
from netdsl.data.sources.hdf5 import open_hdf5
from netdsl.data.sources.netcdf_header import CLASSIC, check_header
from netdsl.data.sources.source import Indices, Item
from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.tables.columns import in_net_types

_RENAMED = "_nc4_non_coord_"  # before the name of a variable that is called like a dimension, and is none
_MISSING = {"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"}  # say what stands for none
_EXCEPTIONS = (RuntimeError, LookupError, ArithmeticError, ValueError, TypeError, AttributeError)  # the library's


class NetcdfSource:
    """One item for each index of the first dimension of the variables, which must have equal lengths there.

    The scale and offset of a variable are applied, as the format says. With `in_parallel` all processes of an MPI job
    open a NetCDF-4 file together, if the library was built so; the attribute says whether it was.
    """

    def __init__(self, path: str | Path, variables: Sequence[str], *, in_parallel: bool = False) -> None:
        self._path = Path(path)
        self.array_names = self._names = tuple(variables)
        self._is_hdf5 = _is_hdf5(self._path)
        if not self._is_hdf5:
            check_header(self._path)
        library = _library()
        self.in_parallel = in_parallel and self._is_hdf5 and bool(library.__has_parallel4_support__)
        with file_errors(path, *_EXCEPTIONS):
            self._file = library.Dataset(path, **({"parallel": True} if self.in_parallel else {}))
        try:
            with file_errors(path, *_EXCEPTIONS):
                self._variables = [self._variable(name) for name in self._names]
                self._length = self._common_length()
                self._check_sizes()
        except DataError:
            self.close()
            raise

    def _variable(self, name: str) -> Any:
        numeric = [key for key, variable in self._file.variables.items() if variable.ndim and variable.dtype != str]
        if name not in numeric:
            others = f"there are {', '.join(numeric)}" if numeric else "there are none"
            raise DataError(f"{self._path}: has no variable of numbers called '{name}'; {others}")
        variable = self._file.variables[name]
        if variable.dtype.itemsize == 1 and not _MISSING & set(variable.ncattrs()):
            variable.set_auto_mask(False)  # NetCDF's rule: of bytes no value stands for a missing one by itself
        return variable

    def _common_length(self) -> int:
        if not self._variables:
            names = ", ".join(self._file.variables)
            raise DataError(f"{self._path}: name the variables to read, as in ?x=NAME&y=NAME; there are {names}")
        lengths = {name: len(variable) for name, variable in zip(self._names, self._variables, strict=True)}
        if len(set(lengths.values())) > 1:
            raise DataError(f"{self._path}: the variables have different lengths: {lengths}")
        return next(iter(lengths.values()))

    def _check_sizes(self) -> None:
        """A DataError for variables that lie in another file, or that claim more than the file can hold."""
        if self._is_hdf5:
            with open_hdf5(self._path) as file:
                for name in self._names:
                    renamed = f"{_RENAMED}{name}"
                    check_stored(member(file, renamed if renamed in file else name), f"variable '{name}'")
            return
        for name, variable in zip(self._names, self._variables, strict=True):
            if math.prod(variable.shape) * variable.dtype.itemsize > self._path.stat().st_size:
                raise DataError(f"{self._path}: variable '{name}' claims more than the file can hold; it is damaged")

    def __len__(self) -> int:
        return self._length

    def fetch(self, index: int) -> Item:
        """One row of each variable."""
        with file_errors(self._path, *_EXCEPTIONS):
            rows = [variable[index] for variable in self._variables]
        return tuple(as_top(self._checked(index, *pair)) for pair in zip(self._names, rows, strict=True))

    def take(self, indices: Indices) -> Item | None:
        """Many rows of each variable, and nothing else of the file: a hyperslab if they are evenly spaced."""
        rows, order = np.unique(indices, return_inverse=True)
        with file_errors(self._path, *_EXCEPTIONS):
            arrays = [variable[as_slice(rows)] for variable in self._variables]
        if any(np.ma.is_masked(array) for array in arrays):
            return None
        return tuple(in_net_types(np.asarray(array)[order]) for array in arrays)

    def _checked(self, index: int, name: str, row: Any) -> Array:
        if np.ma.is_masked(row):
            raise DataError(f"{self._path}: item {index}: variable '{name}' has missing values")
        return np.asarray(row)

    def item(self, fetched: Item) -> Item:
        """The item, which is complete once it is fetched."""
        return fetched

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _is_hdf5(path: Path) -> bool:
    """Whether a NetCDF file is an HDF5 file too; a DataError if it's neither that nor a classic one."""
    with file_errors(path), regular_file(path).open("rb") as file:
        start = file.read(len(SIGNATURE))
    if start != SIGNATURE and not start.startswith(CLASSIC):
        raise DataError(f"{path}: can't be read: it isn't a NetCDF file")
    return start == SIGNATURE


def _library() -> Any:
    return import_extra("netCDF4", "data", "NetCDF files need netCDF4")
