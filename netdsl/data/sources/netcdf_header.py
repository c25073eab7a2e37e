"""The header of a classic NetCDF file, walked through: the library makes room for whatever it claims."""

from __future__ import annotations

from io import BufferedReader
from pathlib import Path

from netdsl.data.sources.file_errors import file_errors, regular_file
from netdsl.errors import DataError

CLASSIC = b"CDF"  # how a file begins, before the version of its format
_WIDE = 5  # the version whose numbers have eight bytes
_NARROW_OFFSETS = 1  # the version whose places in the file have four
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}  # of values by the number of their type


def check_header(path: Path) -> None:
    """A DataError if the lists, names or attributes of a classic file go beyond its end."""
    with file_errors(path), regular_file(path).open("rb") as file:
        _HeaderCheck(file, path).run()


class _HeaderCheck:
    def __init__(self, file: BufferedReader, path: Path) -> None:
        self._file, self._path, self._size = file, path, path.stat().st_size
        self._version = file.read(len(CLASSIC) + 1)[-1]
        self._number_size = 8 if self._version == _WIDE else 4

    def run(self) -> None:
        self._number()  # of records
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
        """A number of things, each of which takes a byte at least."""
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
        """Pass over bytes, which are filled up to a multiple of four."""
        if self._file.seek(-size % 4 + size, 1) > self._size:
            raise self._damaged()

    def _damaged(self) -> DataError:
        return DataError(f"{self._path}: can't be read: its header claims more than the file has; it is damaged")
