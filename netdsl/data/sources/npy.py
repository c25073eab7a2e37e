"""Reads arrays of numbers in numpy's .npy format. Objects, which numpy would unpickle, are refused."""

from __future__ import annotations

import math
import re

import numpy as np

from caffe_proto.whole_numbers import whole_number
from netdsl.data.types import Array

NPY_START = np.lib.format.MAGIC_PREFIX
_LENGTHS = {1: 2, 2: 4, 3: 4}  # bytes of the header's length, by the format's version
_LONGEST_HEADER = 10_000  # numpy's own limit
_MOST_AXES = 32
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[fiub][0-9]{1,2})', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \}\s*"
)


def array_in(data: bytes) -> Array:
    """Return the array in the bytes of an .npy file. Raises a `ValueError` if they aren't an array of numbers."""
    version = data[len(NPY_START)] if data.startswith(NPY_START) and len(data) > len(NPY_START) else 0
    width = _LENGTHS.get(version)
    if width is None:
        raise ValueError("it isn't an .npy file")
    start = len(NPY_START) + 2 + width
    length = int.from_bytes(data[start - width : start], "little")
    header = _HEADER.fullmatch(data[start : start + length]) if length <= _LONGEST_HEADER else None
    if header is None:
        raise ValueError("its header doesn't describe an array of numbers")
    kind = _kind(header[1].decode())
    axes = [whole_number(axis.strip()) for axis in header[3].decode().split(",") if axis.strip()]
    values = memoryview(data)[start + length :]
    shape = [axis for axis in axes if axis is not None]
    if len(shape) != len(axes) or len(shape) > _MOST_AXES or math.prod(shape) * kind.itemsize != len(values):
        raise ValueError(f"its header has the shape ({header[3].decode()[:40]}), which doesn't fit its values")
    return np.frombuffer(values, kind).reshape(shape, order="F" if header[2] == b"True" else "C")


def _kind(text: str) -> np.dtype[np.generic]:
    try:
        return np.dtype(text)
    except TypeError:
        raise ValueError(f"it has values of the unknown type {text}") from None
