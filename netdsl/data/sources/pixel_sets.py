"""The data sets of fully convolutional networks: the places of their files, and the contents for every pixel."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.files import listed_lines, numbered_lines, read_bytes
from netdsl.data.sources.matlab import matlab_array
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color, decode, decode_depth, decode_indices
from netdsl.data.types import Array
from netdsl.errors import DataError

_LARGEST = 999  # the largest label in a set's files
IGNORED = 255  # the label of pixels that belong to no class
DEPTH_MEAN = 7.844  # the mean of the logarithms in NYUD
_SCENES = "spatial_envelope_256x256_static_8outdoorcategories"
# Names that differ between PASCAL-Context's two lists.
_OTHER_NAMES = {"table": "diningtable", "bedclothes": "bedcloth", "cloth": "clothes"}

Mean = Sequence[float]


class PixelFiles(Protocol):
    """An array for each image of a set: the path of its file, and how to read it."""

    def path(self, name: str) -> str:
        """Return the path of an image's file."""
        ...

    def read(self, data: bytes, where: str) -> Array:
        """Return an array of channels, height and width from the bytes of a file."""
        ...


@dataclass(frozen=True)
class _NamedFiles:
    beginning: str
    ending: str

    def path(self, name: str) -> str:
        """Return the path of an image's file."""
        return f"{self.beginning}{name}{self.ending}"


@dataclass(frozen=True)
class ColorFiles(_NamedFiles):
    """Images minus a mean, in blue, green, red, or in the stored order with `as_stored`."""

    mean: Mean
    as_stored: bool = False

    def read(self, data: bytes, where: str) -> Array:
        """Return the image. The mean is subtracted in float64, as in the authors' program."""
        image = decode(data, Color.COLOR, where)[:: -1 if self.as_stored else 1].astype(np.float64)
        return np.asarray(image - np.array(self.mean)[:, None, None], np.float32)


@dataclass(frozen=True)
class DepthFiles(_NamedFiles):
    """Depth images, which are read as logarithms."""

    def read(self, data: bytes, where: str) -> Array:
        """Return the logarithms minus their mean."""
        depth = decode_depth(data, where)
        if not depth.all():
            raise DataError(
                f"{where}: some pixels have no depth, so they have no logarithm; use the data set's depths with "
                "filled holes"
            )
        return np.log(depth.astype(np.float32))[None] - np.float32(DEPTH_MEAN)


@dataclass(frozen=True)
class IndexFiles(_NamedFiles):
    """Images whose pixels are indices into a palette. The indices are the classes."""

    def read(self, data: bytes, where: str) -> Array:
        """Return the indices."""
        return decode_indices(data, where)[None]


@dataclass(frozen=True)
class MatlabLabels(_NamedFiles):
    """Matrices of labels. `first` is the label of class 0. Pixels with smaller labels belong to no class."""

    place: tuple[str, ...]  # the matrix's name in the file
    first: int = 0

    def read(self, data: bytes, where: str) -> Array:
        """Return the labels."""
        labels = _matrix(data, self.place, where)
        return np.where(labels < self.first, IGNORED, labels - self.first).astype(np.uint8)[None]


@dataclass(frozen=True)
class RenumberedLabels(_NamedFiles):
    """Matrices of labels, which `numbers` maps to classes."""

    place: tuple[str, ...]
    numbers: tuple[int, ...]

    def read(self, data: bytes, where: str) -> Array:
        """Return the labels."""
        labels, numbers = _matrix(data, self.place, where), np.array(self.numbers, np.uint8)
        if labels.max(initial=0) >= len(numbers):
            raise DataError(
                f"{where}: the image has label {labels.max()}, but the list of classes ends with "
                f"{len(numbers) - 1}; use the labels.txt of this data set"
            )
        return numbers[labels][None]


def _matrix(data: bytes, place: Sequence[str], where: str) -> NDArray[np.int64]:
    values = matlab_array(data, place, where)
    with np.errstate(invalid="ignore"):
        labels = values.astype(np.int64)
    whole = values.ndim == 2 and np.array_equal(labels, values)
    if not whole or labels.min(initial=0) < -1 or labels.max(initial=0) > _LARGEST:
        raise DataError(f"{where}: '{'.'.join(place)}' isn't a matrix of labels; download the data set's file again")
    return labels


@dataclass(frozen=True)
class PixelSet:
    """The arrays of a set's images. The images' names are in a list."""

    list: str
    arrays: tuple[PixelFiles, ...]


def voc(folder: str, split: str, mean: Mean) -> PixelSet:
    """Return the images and labels of Pascal VOC from one year."""
    arrays = ColorFiles(f"{folder}/JPEGImages/", ".jpg", mean), IndexFiles(f"{folder}/SegmentationClass/", ".png")
    return PixelSet(f"{folder}/ImageSets/Segmentation/{split}.txt", arrays)


def sbdd(folder: str, split: str, mean: Mean) -> PixelSet:
    """Return the images and labels of the Semantic Boundaries Dataset, which labels more images of Pascal VOC."""
    labels = MatlabLabels(f"{folder}/cls/", ".mat", ("GTcls", "Segmentation"))
    return PixelSet(f"{folder}/{split}.txt", (ColorFiles(f"{folder}/img/", ".jpg", mean), labels))


def nyud(folder: str, split: str, tops: Sequence[str]) -> PixelSet:
    """Return rooms with depth and labels of 40 classes, from NYUD. `tops` are some of color, depth, hha and label."""
    files: dict[str, PixelFiles] = {
        "color": ColorFiles(f"{folder}/data/images/img_", ".png", _in_float32(116.190, 97.203, 92.318)),
        "depth": DepthFiles(f"{folder}/data/depth/img_", ".png"),
        "hha": ColorFiles(f"{folder}/data/hha/img_", ".png", _in_float32(132.431, 94.076, 118.477), as_stored=True),
        "label": MatlabLabels(f"{folder}/segmentation/img_", ".mat", ("segmentation",), first=1),
    }
    unknown = [top for top in tops if top not in files]
    if unknown:
        raise DataError(f"NYUD has no '{unknown[0]}'; choose from {', '.join(files)}")
    return PixelSet(f"{folder}/{split}.txt", tuple(files[top] for top in tops))


def sift_flow(folder: str, split: str) -> PixelSet:
    """Return outdoor scenes with labels of objects and labels of surfaces, from SIFT Flow."""
    arrays: tuple[PixelFiles, ...] = (
        ColorFiles(f"{folder}/Images/{_SCENES}/", ".jpg", _in_float32(114.578, 115.294, 108.353)),
        MatlabLabels(f"{folder}/SemanticLabels/{_SCENES}/", ".mat", ("S",), first=1),
        MatlabLabels(f"{folder}/GeoLabels/{_SCENES}/", ".mat", ("S",), first=1),
    )
    return PixelSet(f"{folder}/{split}.txt", arrays)


def pascal_context(folder: str, voc_folder: str, split: str) -> PixelSet:
    """Return images of Pascal VOC 2010 in which every pixel has a label. The 59 used classes have numbers; all others
    are 0."""
    pictures = f"{voc_folder}/VOC2010"
    numbers = _context_numbers(f"{folder}/labels.txt", f"{folder}/59_labels.txt")
    arrays = (
        ColorFiles(f"{pictures}/JPEGImages/", ".jpg", _in_float32(104.007, 116.669, 122.679)),
        RenumberedLabels(f"{folder}/trainval/", ".mat", ("LabelMap",), numbers),
    )
    return PixelSet(f"{pictures}/ImageSets/Main/{split}.txt", arrays)


def _context_numbers(all_classes: str, used_classes: str) -> tuple[int, ...]:
    """Return the number of each class among the used classes, by its number among all classes."""
    known, used = _class_list(all_classes), _class_list(used_classes)
    renamed = {short: long for long, short in _OTHER_NAMES.items()}
    numbers = [0] * (len(known) + 1)
    for number, name in enumerate(used, 1):
        name = renamed.get(name, name)
        if name not in known:
            raise DataError(
                f"{used_classes}: '{name}' isn't among the classes of {all_classes}; write a name as it is there"
            )
        numbers[1 + known.index(name)] = number
    return tuple(numbers)


def _class_list(path: str) -> list[str]:
    """Return the names in lines such as `1: accordion`."""
    return [line.partition(":")[2].replace(" ", "") for _, line in numbered_lines(path)]


def _in_float32(*values: float) -> Mean:
    return [float(np.float32(value)) for value in values]


class PixelSetItem(NamedTuple):
    """The name of an image, and the bytes of its files."""

    name: str
    files: list[tuple[str, bytes]]


class PixelSetSource:
    """The images of a set in the order of its list or, with a seed, an endless sequence of randomly drawn images.

    As in the authors' layers, each draw is from all images, so some repeat before others appear. A draw depends only on
    the seed and the place. An item is ready for the net and needs no Transform.
    """

    def __init__(self, pixels: PixelSet, seed: int | None = None) -> None:
        self._arrays, self._seed = pixels.arrays, seed
        self._names = [line.strip() for _, line in listed_lines(pixels.list)]

    def __len__(self) -> int:
        return len(self._names) if self._seed is None else sys.maxsize

    def fetch(self, index: int) -> PixelSetItem:
        """Return the bytes of an image's files."""
        place = index if self._seed is None else self._drawn(self._seed, index)
        paths = [files.path(self._names[place]) for files in self._arrays]
        return PixelSetItem(self._names[place], [(path, read_bytes(path)) for path in paths])

    def _drawn(self, seed: int, index: int) -> int:
        return int(np.random.default_rng((seed, index)).integers(len(self._names)))

    def item(self, fetched: PixelSetItem) -> Item:
        """Return the arrays, which must have the same size."""
        readers: list[Callable[[bytes, str], Array]] = [files.read for files in self._arrays]
        arrays = [read(data, path) for read, (path, data) in zip(readers, fetched.files, strict=True)]
        sizes = {path: array.shape[1:] for (path, _), array in zip(fetched.files, arrays, strict=True)}
        if len(set(sizes.values())) > 1:
            words = ", ".join(f"{path} is {size[0]} x {size[1]}" for path, size in sizes.items())
            raise DataError(f"image '{fetched.name}': its files have different sizes: {words}; download them again")
        return tuple(arrays)

    def close(self) -> None:
        """Do nothing, because no file stays open."""
