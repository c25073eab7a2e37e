"""CIFAR-10 and CIFAR-100 in their binary version, whose records are labels and an image."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.class_names import class_names_in, read_class_names
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.data.sources.source import DataSplit
from netdsl.data.types import Array
from netdsl.errors import DataError

_IMAGE = (3, 32, 32)
_PIXELS = 3 * 32 * 32
TEN = {DataSplit.TRAIN: [f"data_batch_{number}.bin" for number in range(1, 6)], DataSplit.TEST: ["test_batch.bin"]}
HUNDRED = {DataSplit.TRAIN: ["train.bin"], DataSplit.TEST: ["test.bin"]}


class Cifar10Source(ArraySource):
    """Images with one of ten labels. Their channels stay red, green, blue, as with Caffe's own converter."""

    stored_rgb = True

    def __init__(self, folder: str | Path, split: DataSplit = DataSplit.TRAIN) -> None:
        self._folder = Path(folder)
        super().__init__(_images_and_labels(self._folder, TEN[split], labels=1))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, which are published beside the records."""
        return _class_names(self._folder, "batches.meta.txt")


class Cifar100Source(ArraySource):
    """Images with one of the hundred fine labels. Their channels are red, green, blue."""

    stored_rgb = True

    def __init__(self, folder: str | Path, split: DataSplit = DataSplit.TRAIN) -> None:
        self._folder = Path(folder)
        super().__init__(_images_and_labels(self._folder, HUNDRED[split], labels=2))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the fine classes, which are published beside the records."""
        return _class_names(self._folder, "fine_label_names.txt")


def _class_names(folder: Path, published: str) -> tuple[str, ...]:
    path = folder / published
    return read_class_names(path) if path.is_file() else class_names_in(folder)


def _images_and_labels(folder: Path, names: Sequence[str], labels: int) -> list[tuple[Array, Array]]:
    files = [_records(folder / name, labels + _PIXELS) for name in names]
    return [(records[:, labels:].reshape(-1, *_IMAGE), records[:, labels - 1]) for records in files]  # views


def _records(path: Path, length: int) -> Array:
    if not path.exists() and path.with_suffix("").exists():
        raise DataError(
            f"{path.with_suffix('')}: is a pickle, which isn't safe to read; download CIFAR's binary version"
        )
    size = regular_file(path).stat().st_size
    if not size or size % length:
        raise DataError(
            f"{path}: its {size:,} bytes aren't records of {length:,}; it is truncated, or in another format"
        )
    with file_errors(path):
        return np.memmap(path, np.uint8, "r", shape=(size // length, length))
