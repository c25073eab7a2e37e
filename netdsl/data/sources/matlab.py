"""Reads named arrays of numbers from MATLAB's files of level 5, which MATLAB writes by default."""

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

_HEADER = 128  # bytes: a text, followed by the version and the byte order
_VERSION, _LEVEL_5, _LEVEL_7_3 = 124, 0x0100, 0x0200
_MOST = 1 << 28  # bytes of a compressed element after decompression
_MATRIX, _COMPRESSED = 14, 15
_CELLS, _STRUCT, _FIRST_NUMERIC, _LAST_NUMERIC = 1, 2, 6, 15  # classes of matrices
_COMPLEX = 0x800
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}


_Order = Literal["<", ">"]  # the byte order, in numpy's and struct's notation


class _Element(NamedTuple):
    kind: int
    data: bytes


class _Matrix(NamedTuple):
    """A matrix whose values haven't been parsed yet."""

    flags: int
    shape: tuple[int, ...]
    name: str
    values: list[_Element]

    @property
    def kind(self) -> int:
        """The class of the matrix."""
        return self.flags & 0xFF


def matlab_array(data: bytes, place: Sequence[str], where: str) -> Array:
    """Return an array of numbers by its name, or by the names of a struct and its field. The rest of the file isn't
    parsed."""
    order = _byte_order(data, where)
    with _matlab_errors(where):
        found = _find(data, place, order)
    return _numbers(_existing(found, place, where), order, f"{where}: '{'.'.join(place)}'")


def matlab_cells(data: bytes, name: str, where: str) -> list[Array]:
    """Return the arrays of numbers in a cell array's cells, column by column."""
    order = _byte_order(data, where)
    with _matlab_errors(where):
        found = _existing(_find(data, [name], order), [name], where)
        if found.kind != _CELLS:
            raise DataError(f"{where}: '{name}' isn't a cell array; store it in MATLAB as {{array, array, ...}}")
        cells = [_matrix(element.data, order) for element in found.values]
    return [_numbers(cell, order, f"{where}: cell {number} of '{name}'") for number, cell in enumerate(cells, 1)]


@contextmanager
def _matlab_errors(where: str) -> Iterator[None]:
    try:
        yield
    except (struct.error, zlib.error, ValueError, IndexError, TypeError) as problem:
        raise DataError(
            f"{where}: can't be read as MATLAB's: {problem}; download it again, or save it in MATLAB with "
            "save(FILE, '-v7')"
        ) from None


def _existing(found: _Matrix | None, place: Sequence[str], where: str) -> _Matrix:
    if found is None:
        raise DataError(
            f"{where}: the file has no '{'.'.join(place)}'; use the file that the data set's site publishes"
        )
    return found


def _numbers(matrix: _Matrix, order: _Order, what: str) -> Array:
    if not _FIRST_NUMERIC <= matrix.kind <= _LAST_NUMERIC or matrix.flags & _COMPLEX:
        raise DataError(f"{what} isn't an array of real numbers; store it in MATLAB as double(x)")
    try:
        (values,) = matrix.values
        numbers = np.frombuffer(values.data, np.dtype(_NUMBERS[values.kind]).newbyteorder(order))
        return numbers.reshape(matrix.shape, order="F").astype(numbers.dtype.newbyteorder("="))
    except (ValueError, KeyError):
        raise DataError(
            f"{what} doesn't have the values of its shape, so the file is damaged; download it again, or save "
            "it again in MATLAB"
        ) from None


def _byte_order(data: bytes, where: str) -> _Order:
    mark = data[_HEADER - 2 : _HEADER]
    if mark not in (b"IM", b"MI"):
        raise DataError(f"{where}: not a MATLAB file, or one of version 4; save it in MATLAB with save(FILE, '-v7')")
    order: _Order = "<" if mark == b"IM" else ">"
    (version,) = struct.unpack_from(f"{order}H", data, _VERSION)
    if version != _LEVEL_5:
        kind = "MATLAB 7.3" if version == _LEVEL_7_3 else f"an unknown version ({version:#x})"
        raise DataError(f"{where}: the file is in the format of {kind}; save it in MATLAB with save(FILE, '-v7')")
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
    """Return the matrix itself, or a field in the first element of its structs. Returns `None` if there is no such
    field."""
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
    """Yield consecutive elements. Each begins with its kind and its size, and small elements are packed into eight
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
        raise ValueError(f"an element has more than {_MOST:,} bytes after decompression")
    return result
