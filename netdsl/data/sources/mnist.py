"""MNIST, and the data sets that share its idx files: images and labels in two files, plain or gzipped."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.file_errors import file_errors
from netdsl.data.sources.source import Array
from netdsl.data.sources.split import DataSplit
from netdsl.errors import DataError

_NAMES = {DataSplit.TRAIN: ("train",), DataSplit.TEST: ("t10k", "test")}
_BYTES = 8  # idx's code for unsigned bytes


class MnistSource(ArraySource):
    """Images of one channel with their labels, from a folder such as `train-images-idx3-ubyte` is in."""

    def __init__(self, folder: str | Path, split: DataSplit = DataSplit.TRAIN) -> None:
        image_file, label_file = (_find(Path(folder), split, axes) for axes in (3, 1))
        images, labels = _mapped(image_file, 3), _mapped(label_file, 1)
        if len(images) != len(labels):
            raise DataError(
                f"{image_file}: has {len(images):,} images, and {label_file.name} has {len(labels):,} labels; "
                "they don't belong together"
            )
        super().__init__([(images[:, np.newaxis], labels)])


def _find(folder: Path, split: DataSplit, axes: int) -> Path:
    """The file of the images, with three axes, or of the labels, with one."""
    what = "images" if axes == 3 else "labels"
    names = [f"{name}-{what}?idx{axes}-ubyte" for name in _NAMES[split]]
    found = sorted(path for name in names for ending in ("", ".gz") for path in folder.glob(f"*{name}{ending}"))
    if not found:
        raise DataError(f"{folder}: has no file {names[0].replace('?', '-')}, plain or .gz")
    plain = [path for path in found if path.suffix != ".gz"] or found
    if len(plain) > 1:
        raise DataError(f"{folder}: has both {plain[0].name} and {plain[1].name}; keep one of them there")
    return plain[0]


def split_of(path: Path) -> DataSplit:
    """Which half the name of a file says it has."""
    return next(
        (split for split, names in _NAMES.items() if any(f"{name}-" in path.name for name in names)), DataSplit.TRAIN
    )


def _mapped(path: Path, axes: int) -> Array:
    """The values of an idx file: its header says their type and shape, all numbers with the big end first."""
    start = 4 * (1 + axes)
    packed = path.suffix == ".gz"
    with file_errors(path, EOFError, zlib.error), gzip.open(path) if packed else path.open("rb") as file:
        header = file.read(start)
        shape = _shape(path, header, axes)
        size = math.prod(shape)
        values = np.frombuffer(file.read(size + 1), np.uint8) if packed else None
        there = len(values) if values is not None else path.stat().st_size - start
    if there != size:
        fault = "it is cut short" if there < size else "it has more than that"
        raise DataError(f"{path}: needs {size:,} bytes for {shape[0]:,} items; {fault}")
    return values.reshape(shape) if values is not None else np.memmap(path, np.uint8, "r", start, shape)


def _shape(path: Path, header: bytes, axes: int) -> tuple[int, ...]:
    if header[:4] != bytes((0, 0, _BYTES, axes)):
        raise DataError(f"{path}: isn't an idx file of bytes with {axes} axes: it starts with 0x{header[:4].hex()}")
    shape = tuple(int(size) for size in np.frombuffer(header[4 : len(header) // 4 * 4], ">u4"))
    if len(shape) < axes or 0 in shape:
        raise DataError(f"{path}: its header {'is cut short' if len(shape) < axes else 'promises no values'}")
    return shape
