"""Writes synthetic data sets of images with labels for every pixel, in the folders and formats of the real ones."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from netdsl.data.sources.pixel_sets import (
    ColorFiles,
    DepthFiles,
    IndexFiles,
    MatlabLabels,
    PixelFiles,
    PixelSet,
    RenumberedLabels,
)
from netdsl.data.transforms.decode import opencv
from netdsl.data.types import Array
from netdsl.data.writing.annotated_sets import palette_png
from netdsl.data.writing.image_files import ImageFormat, encode
from netdsl.data.writing.sample_files import as_labels, as_pixels

_MATRIX, _BYTES, _UNSIGNED, _SIGNED, _TEXT = 14, 2, 6, 5, 1  # kinds of elements
_STRUCT, _UINT8 = 2, 9  # classes of matrices
_LONGEST_FIELD = 32  # bytes of a field's name
_FAR = 2500  # e^7.8 is the depth at the logarithm's mean
_CLASSES = "1: grass\n2: sky\n"  # an excerpt of PASCAL-Context's classes


def matlab_bytes(matrix: Array, place: Sequence[str]) -> bytes:
    """Return a MATLAB file with a matrix of bytes under a name, or in a field of a named struct."""
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


def write_context_classes(folder: Path) -> None:
    """Write the two lists of classes of PASCAL-Context."""
    for name in ("labels.txt", "59_labels.txt"):
        (folder / name).write_text(_CLASSES)


def write_pixel_set(pixels: PixelSet, values: Sequence[Array]) -> None:
    """Write the list and the files of a set, for a batch of its arrays."""
    names = [f"sample{index}" for index in range(len(values[0]))]
    _write(Path(pixels.list), "".join(f"{name}\n" for name in names).encode())
    for files, batch in zip(pixels.arrays, values, strict=True):
        for name, array in zip(names, batch, strict=True):
            _write(Path(files.path(name)), _encoded(files, array))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _encoded(files: PixelFiles, array: Array) -> bytes:
    match files:
        case DepthFiles():
            return _depth(array[0])
        case IndexFiles():
            return palette_png(as_labels(array[0]))
        case MatlabLabels(place=place, first=first):
            return matlab_bytes(as_labels(array[0] + np.float32(first)), place)
        case RenumberedLabels(place=place, numbers=numbers):
            known = np.array([numbers.index(label) for label in range(max(numbers) + 1)], np.uint8)
            return matlab_bytes(known[as_labels(array[0])], place)
        case ColorFiles(ending=ending):
            return encode(as_pixels(array), ImageFormat(ending[1:]), ending)
    raise AssertionError(f"no file is known for {type(files).__name__}")


def _depth(values: Array) -> bytes:
    depth = np.clip(_FAR * (1 + values.astype(np.float32) / 10), 1, None).astype(np.uint16)
    return bytes(opencv().imencode(".png", depth)[1])
