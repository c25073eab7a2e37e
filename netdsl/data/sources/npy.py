"""Reads arrays of numbers in numpy's .npy format. Objects, which numpy would unpickle, are refused."""

from __future__ import annotations

import math
import re
from io import BytesIO
from typing import IO

import numpy as np
from numpy.typing import NDArray

from caffe_proto.whole_numbers import whole_number
from netdsl.data.types import Array

NPY_START = np.lib.format.MAGIC_PREFIX
_LENGTHS = {1: 2, 2: 4, 3: 4}  # bytes of the header's length, by the format's version
_LONGEST_HEADER = 10_000  # numpy's own limit
_MOST_AXES = 32
_PIECE = 1 << 20  # bytes that are read at once
_HEADER = re.compile(  # the order of the entries isn't fixed
    rb"""\{(?:\s*+(?:
        ['"]descr['"]:\s*+['"](?P<kind>[<>|=]?[fiub][1248])['"]
        | ['"]fortran_order['"]:\s*+(?P<order>True|False)
        | ['"]shape['"]:\s*+\((?P<shape>[0-9,\ ]*+)\)
    ),?+){3}\s*+\}\s*+""",
    re.VERBOSE,
)


def array_in(data: bytes) -> Array:
    """Return the array in the bytes of an .npy file. Raises a `ValueError` if they aren't an array of numbers."""
    return read_array(BytesIO(data), len(data))


def read_array(file: IO[bytes], size: int) -> Array:
    """Read the array in an .npy file of a size. Raises a `ValueError` if it isn't an array of numbers.

    The header is checked before memory is allocated for the values.
    """
    start = file.read(len(NPY_START) + 2)
    width = _LENGTHS.get(start[-2]) if start.startswith(NPY_START) and len(start) > len(NPY_START) + 1 else None
    if width is None:
        raise ValueError("it isn't an .npy file")
    length = int.from_bytes(file.read(width), "little")
    header = _HEADER.fullmatch(file.read(length)) if length <= _LONGEST_HEADER else None
    if header is None or None in header.groups():
        raise ValueError("its header doesn't describe an array of numbers")
    kind, text = _kind(header["kind"].decode()), header["shape"].decode()
    axes = [whole_number(axis.strip()) for axis in text.split(",") if axis.strip()]
    shape, values = [axis for axis in axes if axis is not None], size - len(start) - width - length
    if len(shape) != len(axes) or len(shape) > _MOST_AXES or math.prod(shape) * kind.itemsize != values:
        raise ValueError(f"its header has the shape ({text[:40]}), which doesn't fit its values")
    array = np.empty(math.prod(shape), kind)
    _fill(array.view(np.uint8), file)
    return array.reshape(shape, order="F" if header["order"] == b"True" else "C")


def _kind(text: str) -> np.dtype[np.generic]:
    try:
        return np.dtype(text)
    except TypeError:
        raise ValueError(f"it has values of the unknown type {text}") from None


def _fill(values: NDArray[np.uint8], file: IO[bytes]) -> None:
    place = 0
    while place < len(values):
        piece = file.read(min(_PIECE, len(values) - place))
        if not piece:
            raise ValueError("it ends before its values do")
        values[place : place + len(piece)] = np.frombuffer(piece, np.uint8)
        place += len(piece)
