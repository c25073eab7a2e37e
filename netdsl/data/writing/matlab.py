"""MATLAB's files of level 5 with one matrix of bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from netdsl.data.types import Array

_MATRIX, _BYTES, _UNSIGNED, _SIGNED, _TEXT = 14, 2, 6, 5, 1  # kinds of elements
_STRUCT, _UINT8 = 2, 9  # classes of matrices
_LONGEST_FIELD = 32  # bytes of a field's name


def matlab_bytes(matrix: Array, place: Sequence[str]) -> bytes:
    """A file with a matrix of bytes under a name, or in a field of a struct of a name."""
    name, *fields = place
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H2s", 0x0100, b"IM")
    if not fields:
        return header + _numbers(matrix, name)
    (field,) = fields
    lengths = _element(_SIGNED, struct.pack("<i", _LONGEST_FIELD))
    names = _element(_TEXT, field.encode("ascii").ljust(_LONGEST_FIELD, b"\0"))
    return header + _matrix(_STRUCT, (1, 1), name, lengths + names + _numbers(matrix, ""))


def _numbers(matrix: Array, name: str) -> bytes:
    return _matrix(_UINT8, matrix.shape, name, _element(_BYTES, matrix.astype(np.uint8).tobytes(order="F")))


def _matrix(kind: int, shape: Sequence[int], name: str, values: bytes) -> bytes:
    flags = _element(_UNSIGNED, struct.pack("<II", kind, 0))
    dims = _element(_SIGNED, struct.pack(f"<{len(shape)}i", *shape))
    return _element(_MATRIX, flags + dims + _element(_TEXT, name.encode("ascii")) + values)


def _element(kind: int, data: bytes) -> bytes:
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)
