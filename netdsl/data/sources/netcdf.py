"""Reads NetCDF files, whose variables have the items along their first dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.errors import import_extra
from caffe_proto.hdf5 import SIGNATURE, StoredValues, member
from netdsl.data.sources.arrays import as_slice, as_top
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.data.sources.hdf5 import open_hdf5
from netdsl.data.sources.source import Indices, Item
from netdsl.data.tables.columns import in_net_types
from netdsl.data.types import Array
from netdsl.errors import DataError

CLASSIC = b"CDF"  # the start of a file, before the version of its format
_WIDE = 5  # the version whose numbers have eight bytes
_NARROW_OFFSETS = 1  # the version whose offsets have four bytes
# Sizes of values by the number of their type.
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
_RENAMED = "_nc4_non_coord_"  # the prefix of a variable that has a dimension's name without describing that dimension
# Attributes that define missing values.
_MISSING = {"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"}
# Exceptions of the library.
_EXCEPTIONS = (RuntimeError, LookupError, ArithmeticError, ValueError, TypeError, AttributeError)


def check_header(path: Path) -> None:
    """Raise a `DataError` if the lists, names or attributes of a classic file extend beyond its end."""
    with file_errors(path), regular_file(path).open("rb") as file:
        _HeaderCheck(file, path).run()


class _HeaderCheck:
    def __init__(self, file: BufferedReader, path: Path) -> None:
        self._file, self._path, self._size = file, path, path.stat().st_size
        self._version = file.read(len(CLASSIC) + 1)[-1]
        self._number_size = 8 if self._version == _WIDE else 4

    def run(self) -> None:
        self._number()  # the number of records
        for _ in range(self._list_length()):  # dimensions
            self._name()
            self._number()
        self._attributes()
        for _ in range(self._list_length()):  # variables
            self._name()
            self._skip(self._count() * self._number_size)
            self._attributes()
            self._number(4)
            self._number()
            self._number(4 if self._version == _NARROW_OFFSETS else 8)

    def _attributes(self) -> None:
        for _ in range(self._list_length()):
            self._name()
            size = _SIZES.get(self._number(4), 1)
            self._skip(self._count() * size)

    def _list_length(self) -> int:
        self._number(4)  # the kind of list
        return self._count()

    def _name(self) -> None:
        self._skip(self._count())

    def _count(self) -> int:
        """Return a count of things that need at least one byte each."""
        count = self._number()
        if count > self._size:
            raise self._damaged()
        return count

    def _number(self, size: int = 0) -> int:
        data = self._file.read(size or self._number_size)
        if len(data) < (size or self._number_size):
            raise self._damaged()
        return int.from_bytes(data)

    def _skip(self, size: int) -> None:
        """Skip bytes, which are padded to a multiple of four."""
        if self._file.seek(-size % 4 + size, 1) > self._size:
            raise self._damaged()

    def _damaged(self) -> DataError:
        return DataError(
            f"{self._path}: can't be read: its header claims more than the file has; download or copy it again"
        )


class NetcdfSource:
    """An item for each index along the first dimension of the variables, which must be equally long.

    The scale and offset of a variable are applied, as the format requires. With `in_parallel`, all processes of an MPI
    job open a NetCDF-4 file together if the library supports it. The attribute `in_parallel` is true if they did.
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
            others = f"choose from {', '.join(numeric)}" if numeric else "name another file, because this one has none"
            raise DataError(f"{self._path}: the file has no variable of numbers called '{name}'; {others}")
        variable = self._file.variables[name]
        if variable.dtype.itemsize == 1 and not _MISSING & set(variable.ncattrs()):
            variable.set_auto_mask(False)  # NetCDF's rule: no byte means a missing value by default
        return variable

    def _common_length(self) -> int:
        if not self._variables:
            names = ", ".join(self._file.variables)
            raise DataError(f"{self._path}: name the variables to read, as in ?x=NAME&y=NAME; choose from {names}")
        lengths = {name: len(variable) for name, variable in zip(self._names, self._variables, strict=True)}
        if len(set(lengths.values())) > 1:
            raise DataError(
                f"{self._path}: the variables have different lengths: {lengths}; choose variables whose first "
                "dimension has one length"
            )
        return next(iter(lengths.values()))

    def _check_sizes(self) -> None:
        """Raise a `DataError` for variables that are stored in another file, or that claim more bytes than this file
        has."""
        if self._is_hdf5:
            with open_hdf5(self._path) as file:
                stored = StoredValues()
                for name in self._names:
                    renamed = f"{_RENAMED}{name}"
                    stored.charge(member(file, renamed if renamed in file else name), f"variable '{name}'")
            return
        for name, variable in zip(self._names, self._variables, strict=True):
            if math.prod(variable.shape) * variable.dtype.itemsize > self._path.stat().st_size:
                raise DataError(
                    f"{self._path}: variable '{name}' claims more than the file can hold, so the file is "
                    "damaged; download or copy it again"
                )

    def __len__(self) -> int:
        return self._length

    def fetch(self, index: int) -> Item:
        """Return one row of each variable."""
        with file_errors(self._path, *_EXCEPTIONS):
            rows = [variable[index] for variable in self._variables]
        return tuple(as_top(self._checked(index, *pair)) for pair in zip(self._names, rows, strict=True))

    def take(self, indices: Indices) -> Item | None:
        """Return many rows of each variable, without reading other rows. Evenly spaced rows are read as a hyperslab."""
        rows, order = np.unique(indices, return_inverse=True)
        with file_errors(self._path, *_EXCEPTIONS):
            arrays = [variable[as_slice(rows)] for variable in self._variables]
        if any(np.ma.is_masked(array) for array in arrays):
            return None
        return tuple(in_net_types(np.asarray(array)[order]) for array in arrays)

    def _checked(self, index: int, name: str, row: Any) -> Array:
        if np.ma.is_masked(row):
            raise DataError(
                f"{self._path}: item {index}: variable '{name}' has missing values; fill them in, as with "
                "xarray's fillna, and store the file again"
            )
        return np.asarray(row)

    def item(self, fetched: Item) -> Item:
        """Return the item, which fetching has completed."""
        return fetched

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _is_hdf5(path: Path) -> bool:
    """Return whether a NetCDF file is also an HDF5 file. Raises a `DataError` if it isn't a NetCDF file."""
    with file_errors(path), regular_file(path).open("rb") as file:
        start = file.read(len(SIGNATURE))
    if start != SIGNATURE and not start.startswith(CLASSIC):
        raise DataError(f"{path}: not a NetCDF file; name its kind, as in hdf5:PATH or csv:PATH, or download it again")
    return start == SIGNATURE


def _library() -> Any:
    return import_extra("netCDF4", "data", "NetCDF files need netCDF4")
