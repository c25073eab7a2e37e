"""Well-known data sets of small images: MNIST's idx files, CIFAR's binary files, and scikit-learn's digits."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from caffe_proto.errors import MissingExtraError
from caffe_proto.storage import MAX_DEFLATION
from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.class_names import class_names_in, read_class_names
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.data.sources.source import DataSplit
from netdsl.data.types import Array
from netdsl.errors import DataError

_NAMES = {DataSplit.TRAIN: ("train",), DataSplit.TEST: ("t10k", "test")}
_UNSIGNED_BYTES = 8  # the code for this type in an idx file
_IMAGE = (3, 32, 32)
_PIXELS = 3 * 32 * 32
TEN = {DataSplit.TRAIN: [f"data_batch_{number}.bin" for number in range(1, 6)], DataSplit.TEST: ["test_batch.bin"]}
HUNDRED = {DataSplit.TRAIN: ["train.bin"], DataSplit.TEST: ["test.bin"]}
_TEST_EVERY = 5  # one in this many images of each digit is for testing


class MnistSource(ArraySource):
    """Images of one channel with their labels, from a folder with files such as `train-images-idx3-ubyte`."""

    def __init__(self, folder: str | Path, split: DataSplit = DataSplit.TRAIN) -> None:
        self._folder = Path(folder)
        image_file, label_file = (_find_file(Path(folder), split, axes) for axes in (3, 1))
        images, labels = _read_idx(image_file, 3), _read_idx(label_file, 1)
        if len(images) != len(labels):
            raise DataError(
                f"{image_file}: the file has {len(images):,} images, but {label_file.name} has {len(labels):,} "
                "labels; use files of the same data set"
            )
        super().__init__([(images[:, np.newaxis], labels)])

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes. The sequence is empty if the folder doesn't state them."""
        return class_names_in(self._folder)


def _find_file(folder: Path, split: DataSplit, axes: int) -> Path:
    """Return the file of the images, which has three axes, or of the labels, which has one."""
    content = "images" if axes == 3 else "labels"
    names = [f"{name}-{content}?idx{axes}-ubyte" for name in _NAMES[split]]
    matches = sorted(path for name in names for ending in ("", ".gz") for path in folder.glob(f"*{name}{ending}"))
    if not matches:
        raise DataError(
            f"{folder}: the folder has no file {names[0].replace('?', '-')}, plain or .gz; download it from the "
            "data set's site"
        )
    files = [path for path in matches if path.suffix != ".gz"] or matches
    if len(files) > 1:
        raise DataError(f"{folder}: both {files[0].name} and {files[1].name} are in the folder; remove one of them")
    return files[0]


def split_of(path: Path) -> DataSplit:
    """Return the split in a file's name, or `TRAIN` if it contains none."""
    return next(
        (split for split, names in _NAMES.items() if any(f"{name}-" in path.name for name in names)), DataSplit.TRAIN
    )


def _read_idx(path: Path, axes: int) -> Array:
    """Return the values of an idx file, whose header contains their type and shape as big-endian numbers."""
    start = 4 * (1 + axes)
    gzipped = regular_file(path).suffix == ".gz"
    with file_errors(path, EOFError, zlib.error), gzip.open(path) if gzipped else path.open("rb") as file:
        header = file.read(start)
        shape = _shape(path, header, axes)
        size, stored = math.prod(shape), path.stat().st_size
        if (
            gzipped and size <= MAX_DEFLATION * stored
        ):  # a file that claims more isn't read, because the memory is allocated at once
            values = np.frombuffer(file.read(size + 1), np.uint8)
            available = len(values)
        else:
            values, available = None, 0 if gzipped else stored - start
        if available != size:
            problem = (
                "it is truncated, so download it again" if available < size else "it has more, so download it again"
            )
            raise DataError(f"{path}: {shape[0]:,} items need {size:,} bytes; {problem}")
        return np.memmap(path, np.uint8, "r", start, shape) if values is None else values.reshape(shape)


def _shape(path: Path, header: bytes, axes: int) -> tuple[int, ...]:
    if header[:4] != bytes((0, 0, _UNSIGNED_BYTES, axes)):
        raise DataError(
            f"{path}: not an idx file of bytes with {axes} axes: it starts with 0x{header[:4].hex()}; download it again"
        )
    shape = tuple(int(size) for size in np.frombuffer(header[4 : len(header) // 4 * 4], ">u4"))
    if len(shape) < axes or 0 in shape:
        raise DataError(
            f"{path}: its header {'is truncated' if len(shape) < axes else 'has a shape without values'}; download "
            "it again"
        )
    return shape


class Cifar10Source(ArraySource):
    """Images with one of ten labels. Their channels stay red, green, blue, as with Caffe's own converter."""

    stored_rgb = True

    def __init__(self, folder: str | Path, split: DataSplit = DataSplit.TRAIN) -> None:
        self._folder = Path(folder)
        super().__init__(_images_and_labels(self._folder, TEN[split], labels=1))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, from the file that is published with the records."""
        return _class_names(self._folder, "batches.meta.txt")


class Cifar100Source(ArraySource):
    """Images with one of the hundred fine labels. Their channels are red, green, blue."""

    stored_rgb = True

    def __init__(self, folder: str | Path, split: DataSplit = DataSplit.TRAIN) -> None:
        self._folder = Path(folder)
        super().__init__(_images_and_labels(self._folder, HUNDRED[split], labels=2))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the fine classes, from the file that is published with the records."""
        return _class_names(self._folder, "fine_label_names.txt")


def _class_names(folder: Path, published: str) -> tuple[str, ...]:
    path = folder / published
    return read_class_names(path) if path.is_file() else class_names_in(folder)


def _images_and_labels(folder: Path, names: Sequence[str], labels: int) -> list[tuple[Array, Array]]:
    files = [_records(folder / name, labels + _PIXELS) for name in names]
    # Views of the mapped file.
    return [(records[:, labels:].reshape(-1, *_IMAGE), records[:, labels - 1]) for records in files]


def _records(path: Path, length: int) -> Array:
    if not path.exists() and path.with_suffix("").exists():
        raise DataError(
            f"{path.with_suffix('')}: the file is a pickle, which isn't safe to read; download CIFAR's binary version"
        )
    size = regular_file(path).stat().st_size
    if not size or size % length:
        raise DataError(
            f"{path}: its {size:,} bytes aren't records of {length:,}; it is truncated or in another format, so "
            "download it again"
        )
    with file_errors(path):
        return np.memmap(path, np.uint8, "r", shape=(size // length, length))


class DigitsSource(ArraySource):
    """Images of digits with values from 0 to 255, and their labels. Without a split, all images are included."""

    def __init__(self, split: DataSplit | None = None) -> None:
        rows = np.loadtxt(_digits_file(), delimiter=",")
        images, labels = rows[:, :64].reshape(-1, 8, 8), rows[:, 64].astype(np.int64)
        selected = np.ones(len(labels), bool) if split is None else _for_testing(labels) == (split is DataSplit.TEST)
        pixels = np.rint(images[selected] * (255 / 16)).astype(np.uint8)
        super().__init__([(pixels[:, np.newaxis], labels[selected])])


def _for_testing(labels: Array) -> Array:
    """Return a mask of the items for testing. It is always the same, with an equal share of every digit."""
    selected = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        selected[np.flatnonzero(labels == label)[_TEST_EVERY - 1 :: _TEST_EVERY]] = True
    return selected


def _digits_file() -> Path:
    """Return scikit-learn's file. It is read without importing the package, which takes seconds."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise MissingExtraError("the digits need scikit-learn; install it with pip install 'netdsl[data]'")
    return Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"
