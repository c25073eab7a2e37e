"""NetCDF files: variables whose first dimension counts the items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.errors import MissingExtraError
from netdsl.data.sources.arrays import as_top
from netdsl.data.sources.file_errors import file_errors
from netdsl.data.sources.source import Item
from netdsl.data.types import Array
from netdsl.errors import DataError


class NetcdfSource:
    """One item for each index of the first dimension of the variables, which must have equal lengths there.

    The scale and offset of a variable are applied, as the format says.
    """

    def __init__(self, path: str | Path, variables: Sequence[str]) -> None:
        self._path, self._names = Path(path), tuple(variables)
        with file_errors(path):
            self._file = _library().Dataset(path)
        try:
            self._variables = [self._variable(name) for name in self._names]
            self._length = self._common_length()
        except DataError:
            self.close()
            raise

    def _variable(self, name: str) -> Any:
        numeric = [key for key, variable in self._file.variables.items() if variable.ndim and variable.dtype != str]
        if name not in numeric:
            others = f"there are {', '.join(numeric)}" if numeric else "there are none"
            raise DataError(f"{self._path}: has no variable of numbers called '{name}'; {others}")
        return self._file.variables[name]

    def _common_length(self) -> int:
        if not self._variables:
            names = ", ".join(self._file.variables)
            raise DataError(f"{self._path}: name the variables to read, as in ?x=NAME&y=NAME; there are {names}")
        lengths = {name: len(variable) for name, variable in zip(self._names, self._variables, strict=True)}
        if len(set(lengths.values())) > 1:
            raise DataError(f"{self._path}: the variables have different lengths: {lengths}")
        return next(iter(lengths.values()))

    def __len__(self) -> int:
        return self._length

    def fetch(self, index: int) -> Item:
        """One row of each variable."""
        with file_errors(self._path, RuntimeError):
            rows = [variable[index] for variable in self._variables]
        return tuple(as_top(self._checked(index, *pair)) for pair in zip(self._names, rows, strict=True))

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


@cache
def _library() -> Any:
    try:
        return import_module("netCDF4")
    except ImportError:
        raise MissingExtraError("NetCDF files need netCDF4: pip install 'netdsl[data]'") from None
