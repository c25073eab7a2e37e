"""CIFAR-10 and CIFAR-100 in their binary form: records of labels and an image, never the pickled batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.file_errors import file_errors
from netdsl.data.sources.source import Array
from netdsl.data.sources.split import DataSplit
from netdsl.errors import DataError

_IMAGE = (3, 32, 32)
_PIXELS = 3 * 32 * 32
TEN = {DataSplit.TRAIN: [f"data_batch_{number}.bin" for number in range(1, 6)], DataSplit.TEST: ["test_batch.bin"]}
HUNDRED = {DataSplit.TRAIN: ["train.bin"], DataSplit.TEST: ["test.bin"]}


class Cifar10Source(ArraySource):
    """Images with one of ten labels. The channels are red, green, blue, in which Caffe's own converter keeps them."""

    def __init__(self, folder: str | Path, split: DataSplit = DataSplit.TRAIN) -> None:
        super().__init__(_parts(Path(folder), TEN[split], labels=1))


class Cifar100Source(ArraySource):
    """Images with one of the hundred fine labels; channels as in CIFAR-10."""

    def __init__(self, folder: str | Path, split: DataSplit = DataSplit.TRAIN) -> None:
        super().__init__(_parts(Path(folder), HUNDRED[split], labels=2))


def _parts(folder: Path, names: Sequence[str], labels: int) -> list[tuple[Array, Array]]:
    records = [_records(folder / name, labels + _PIXELS) for name in names]
    return [(each[:, labels:].reshape(-1, *_IMAGE), each[:, labels - 1]) for each in records]  # views on the files


def _records(path: Path, length: int) -> Array:
    if not path.exists() and path.with_suffix("").exists():
        raise DataError(
            f"{path.with_suffix('')}: is pickled, which isn't safe to read; download CIFAR's binary version"
        )
    with file_errors(path):
        size = path.stat().st_size
    if not size or size % length:
        raise DataError(f"{path}: its {size:,} bytes aren't records of {length:,}; it is cut short, or another format")
    return np.memmap(path, np.uint8, "r", shape=(size // length, length))
