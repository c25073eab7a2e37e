"""MNIST's idx files, written here byte by byte."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.known_sets import MnistSource
from netdsl.data.sources.source import DataSplit
from netdsl.errors import DataError

IMAGES = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3)
LABELS = bytes([7, 0, 9, 3, 200])


def idx(*shape: int, kind: int = 8) -> bytes:
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, kind, len(shape), *shape)


def save(folder: Path, images: bytes, labels: bytes, prefix: str = "train", dot: str = "-") -> None:
    (folder / f"{prefix}-images{dot}idx3-ubyte").write_bytes(images)
    (folder / f"{prefix}-labels{dot}idx1-ubyte").write_bytes(labels)


def check(source: MnistSource) -> None:
    assert len(source) == 5
    for index in (3, 0, 4):
        image, label = source.item(source.fetch(index))
        assert image.dtype == np.uint8
        np.testing.assert_array_equal(image, IMAGES[index][np.newaxis])
        assert (label.shape, label.item()) == ((), LABELS[index])


@pytest.mark.parametrize(
    ("prefix", "dot", "split"),
    [("train", "-", DataSplit.TRAIN), ("t10k", ".", DataSplit.TEST), ("emnist-letters-test", "-", DataSplit.TEST)],
)
def test_images_and_labels_are_read(tmp_path: Path, prefix: str, dot: str, split: DataSplit) -> None:
    save(tmp_path, idx(5, 4, 3) + IMAGES.tobytes(), idx(5) + LABELS, prefix, dot)
    check(MnistSource(tmp_path, split))


def test_gzipped_files_are_read(tmp_path: Path) -> None:
    save(tmp_path, gzip.compress(idx(5, 4, 3) + IMAGES.tobytes()), gzip.compress(idx(5) + LABELS))
    for file in list(tmp_path.iterdir()):
        file.rename(f"{file}.gz")
    check(MnistSource(tmp_path))


GOOD = idx(5, 4, 3) + IMAGES.tobytes()


@pytest.mark.parametrize(
    ("images", "labels", "what"),
    [
        (GOOD[:-1], idx(5) + LABELS, "needs 60 bytes for 5 items; it is truncated"),
        (GOOD + b"x", idx(5) + LABELS, "it has more than that"),
        (GOOD[:14], idx(5) + LABELS, "its header is truncated"),
        (b"", idx(5) + LABELS, "it starts with 0x"),
        (idx(0, 4, 3), idx(5) + LABELS, "has a shape without values"),
        (idx(5) + LABELS, idx(5) + LABELS, "isn't an idx file of bytes with 3 axes: it starts with 0x00000801"),
        (idx(5, 4, 3, kind=13) + IMAGES.tobytes(), idx(5) + LABELS, "it starts with 0x00000d03"),
        (GOOD, idx(4) + LABELS[:4], "has 5 images, and train-labels-idx1-ubyte has 4 labels"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_damaged_files_are_told(tmp_path: Path, images: bytes, labels: bytes, what: str, packed: bool) -> None:
    if packed:
        save(tmp_path, gzip.compress(images), gzip.compress(labels))
        for file in list(tmp_path.iterdir()):
            file.rename(f"{file}.gz")
        what = what.replace("ubyte has", "ubyte.gz has")
    else:
        save(tmp_path, images, labels)
    with pytest.raises(DataError) as problem:
        MnistSource(tmp_path)
    assert str(problem.value).startswith(f"{tmp_path}/train-images-idx3-ubyte")
    assert what in str(problem.value)


def test_a_cut_gzip_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(GOOD)[:-20])
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(5) + LABELS)
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte.gz: can't be read: "):
        MnistSource(tmp_path)


def test_missing_and_doubled_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no file t10k-images-idx3-ubyte, plain or .gz"):
        MnistSource(tmp_path, DataSplit.TEST)
    save(tmp_path, GOOD, idx(5) + LABELS)
    save(tmp_path, GOOD, idx(5) + LABELS, "emnist-train")
    with pytest.raises(DataError, match=r"has both emnist-train-images-idx3-ubyte and train-images"):
        MnistSource(tmp_path)
