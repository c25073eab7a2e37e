"""MATLAB's files of level 5, which it writes unless it is told otherwise: arrays of numbers in one by their name."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

import numpy as np

from netdsl.data.types import Array
from netdsl.errors import DataError

_HEADER = 128  # bytes: a text, and at its end the version and the order of bytes
_VERSION, _LEVEL_5, _LEVEL_7_3 = 124, 0x0100, 0x0200
_MOST = 1 << 28  # bytes that a compressed element may become
_MATRIX, _COMPRESSED = 14, 15
_CELLS, _STRUCT, _FIRST_NUMERIC, _LAST_NUMERIC = 1, 2, 6, 15  # classes of matrices
_COMPLEX = 0x800
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}


_Order = Literal["<", ">"]  # of bytes, as numpy and struct write it


class _Element(NamedTuple):
    kind: int
    data: bytes


class _Matrix(NamedTuple):
    """A matrix whose values are still elements."""

    flags: int
    shape: tuple[int, ...]
    name: str
    values: list[_Element]

    @property
    def kind(self) -> int:
        """Its class."""
        return self.flags & 0xFF


def matlab_array(data: bytes, place: Sequence[str], where: str) -> Array:
    """Return the array of numbers of a name, or of a field of a struct of a name; nothing else of the file is looked
    at."""
    order = _byte_order(data, where)
    with _matlab_errors(where):
        found = _find(data, place, order)
    return _numbers(_existing(found, place, where), order, f"{where}: '{'.'.join(place)}'")


def matlab_cells(data: bytes, name: str, where: str) -> list[Array]:
    """Return the arrays of numbers in the cells of a name, column after column."""
    order = _byte_order(data, where)
    with _matlab_errors(where):
        found = _existing(_find(data, [name], order), [name], where)
        if found.kind != _CELLS:
            raise DataError(f"{where}: '{name}' has no cells")
        cells = [_matrix(element.data, order) for element in found.values]
    return [_numbers(cell, order, f"{where}: cell {number} of '{name}'") for number, cell in enumerate(cells, 1)]


@contextmanager
def _matlab_errors(where: str) -> Iterator[None]:
    try:
        yield
    except (struct.error, zlib.error, ValueError, IndexError, TypeError) as problem:
        raise DataError(f"{where}: can't be read as MATLAB's: {problem}") from None


def _existing(found: _Matrix | None, place: Sequence[str], where: str) -> _Matrix:
    if found is None:
        raise DataError(f"{where}: has no '{'.'.join(place)}'")
    return found


def _numbers(matrix: _Matrix, order: _Order, what: str) -> Array:
    if not _FIRST_NUMERIC <= matrix.kind <= _LAST_NUMERIC or matrix.flags & _COMPLEX:
        raise DataError(f"{what} isn't an array of real numbers")
    try:
        (values,) = matrix.values
        numbers = np.frombuffer(values.data, np.dtype(_NUMBERS[values.kind]).newbyteorder(order))
        return numbers.reshape(matrix.shape, order="F").astype(numbers.dtype.newbyteorder("="))
    except (ValueError, KeyError):
        raise DataError(f"{what} hasn't the values of its shape; the file is damaged") from None


def _byte_order(data: bytes, where: str) -> _Order:
    mark = data[_HEADER - 2 : _HEADER]
    if mark not in (b"IM", b"MI"):
        raise DataError(f"{where}: isn't a file of MATLAB, or one of version 4; save it with -v7")
    order: _Order = "<" if mark == b"IM" else ">"
    (version,) = struct.unpack_from(f"{order}H", data, _VERSION)
    if version != _LEVEL_5:
        kind = "of MATLAB 7.3" if version == _LEVEL_7_3 else f"of the unknown version {version:#x}"
        raise DataError(f"{where}: is a file {kind}; save it with -v7")
    return order


def _find(data: bytes, place: Sequence[str], order: _Order) -> _Matrix | None:
    for element in _elements(data[_HEADER:], order):
        if element.kind == _COMPRESSED:
            element = next(_elements(_decompressed(element.data), order))
        if element.kind == _MATRIX and element.data:
            matrix = _matrix(element.data, order)
            if matrix.name == place[0]:
                return _field(matrix, place[1:], order)
    return None


def _field(matrix: _Matrix, place: Sequence[str], order: _Order) -> _Matrix | None:
    """Return the matrix itself, or the field of the first of its structs."""
    if not place:
        return matrix
    if matrix.kind != _STRUCT:
        return None
    length, names, *fields = matrix.values
    (size,) = struct.unpack_from(f"{order}i", length.data)
    starts = range(0, len(names.data), size) if size > 0 else ()
    texts = [names.data[start : start + size].split(b"\0")[0].decode("ascii", "replace") for start in starts]
    if place[0] not in texts:
        return None
    element = fields[texts.index(place[0])]
    return _field(_matrix(element.data, order), place[1:], order)


def _matrix(data: bytes, order: _Order) -> _Matrix:
    flags, shape, name, *values = _elements(data, order)
    (bits,) = struct.unpack_from(f"{order}I", flags.data)
    dims = tuple(np.frombuffer(shape.data, np.dtype(np.int32).newbyteorder(order)).tolist())
    if min(dims, default=-1) < 0 or math.prod(dims) > _MOST:
        raise ValueError(f"a matrix of shape {list(dims)}")
    return _Matrix(bits, dims, name.data.decode("ascii", "replace"), values)


def _elements(data: bytes, order: _Order) -> Iterator[_Element]:
    """Yield the elements that lie one after the other; each says its kind and its size, and small ones are in eight
    bytes."""
    place = 0
    while place + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, place)
        start = place + 8
        if kind >> 16:
            kind, size, start = kind & 0xFFFF, kind >> 16, place + 4
        if start + size > len(data):
            raise ValueError("it ends within an element; the file is damaged, or isn't complete")
        yield _Element(kind, data[start : start + size])
        end = start + size
        place = end if kind == _COMPRESSED else max(place + 8, end + -end % 8)


def _decompressed(data: bytes) -> bytes:
    decompressor = zlib.decompressobj()
    result = decompressor.decompress(data, _MOST)
    if decompressor.unconsumed_tail:
        raise ValueError(f"an element becomes more than {_MOST:,} bytes")
    return result
