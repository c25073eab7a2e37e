"""Made-up data sets of images with labels for every pixel, in the folders and the formats of the real ones."""

from __future__ import annotations

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
from netdsl.data.writing.annotated.voc_folder import palette_png
from netdsl.data.writing.encode import ImageFormat, encode
from netdsl.data.writing.matlab import matlab_bytes
from netdsl.data.writing.sample_files import as_labels, as_pixels

_FAR = 2500  # how far away things are, by the logarithm's mean about e^7.8
_CLASSES = "1: grass\n2: sky\n"  # of PASCAL-Context, which has many more


def write_context_classes(folder: Path) -> None:
    """Write the two lists of classes of PASCAL-Context."""
    for name in ("labels.txt", "59_labels.txt"):
        (folder / name).write_text(_CLASSES)


def write_pixel_set(pixels: PixelSet, values: Sequence[Array]) -> None:
    """Write the list and the files of a set for a batch of its arrays."""
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
