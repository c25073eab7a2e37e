"""Well-known sets: the files of MNIST and CIFAR, and the digits."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.known_sets import Cifar10Source, Cifar100Source, DigitsSource, MnistSource
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
        (GOOD[:-1], idx(5) + LABELS, "5 items need 60 bytes; it is truncated"),
        (GOOD + b"x", idx(5) + LABELS, "it has more, so download"),
        (GOOD[:14], idx(5) + LABELS, "its header is truncated"),
        (b"", idx(5) + LABELS, "it starts with 0x"),
        (idx(0, 4, 3), idx(5) + LABELS, "has a shape without values"),
        (idx(5) + LABELS, idx(5) + LABELS, "not an idx file of bytes with 3 axes: it starts with 0x00000801"),
        (idx(5, 4, 3, kind=13) + IMAGES.tobytes(), idx(5) + LABELS, "it starts with 0x00000d03"),
        (GOOD, idx(4) + LABELS[:4], "has 5 images, but train-labels-idx1-ubyte has 4 labels"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_damaged_files_are_reported(tmp_path: Path, images: bytes, labels: bytes, what: str, packed: bool) -> None:
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


def test_a_truncated_gzip_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(GOOD)[:-20])
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(5) + LABELS)
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte.gz: can't be read: "):
        MnistSource(tmp_path)


def test_missing_and_duplicate_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no file t10k-images-idx3-ubyte, plain or .gz"):
        MnistSource(tmp_path, DataSplit.TEST)
    save(tmp_path, GOOD, idx(5) + LABELS)
    save(tmp_path, GOOD, idx(5) + LABELS, "emnist-train")
    with pytest.raises(DataError, match=r"both emnist-train-images-idx3-ubyte and train-images"):
        MnistSource(tmp_path)


def record(*labels: int, start: int) -> bytes:
    return bytes(labels) + pixels(start).tobytes()


def pixels(start: int) -> np.ndarray:
    return ((np.arange(3072) * 7 + start) % 251).astype(np.uint8).reshape(3, 32, 32)


def test_all_training_batches_follow_each_other(tmp_path: Path) -> None:
    for batch in range(5):  # different lengths show mistakes at the borders
        records = (record(batch, start=10 * batch + number) for number in range(batch + 1))
        (tmp_path / f"data_batch_{batch + 1}.bin").write_bytes(b"".join(records))
    source = Cifar10Source(tmp_path)
    assert len(source) == 15
    for index, (batch, number) in {0: (0, 0), 1: (1, 0), 5: (2, 2), 14: (4, 4), 2: (1, 1)}.items():
        image, label = source.item(source.fetch(index))
        np.testing.assert_array_equal(image, pixels(10 * batch + number))
        assert label.item() == batch


def test_the_test_batch_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "test_batch.bin").write_bytes(record(9, start=1) + record(8, start=2))
    source = Cifar10Source(tmp_path, DataSplit.TEST)
    assert [source.fetch(index)[1].item() for index in range(len(source))] == [9, 8]


def test_a_hundred_classes_have_fine_labels(tmp_path: Path) -> None:
    (tmp_path / "train.bin").write_bytes(record(3, 77, start=5) + record(4, 88, start=6))
    source = Cifar100Source(tmp_path)
    image, label = source.item(source.fetch(1))
    np.testing.assert_array_equal(image, pixels(6))
    assert (len(source), label.item()) == (2, 88)


def test_a_truncated_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "test_batch.bin").write_bytes(record(9, start=1)[:-1])
    with pytest.raises(DataError, match=r"test_batch.bin: its 3,072 bytes aren't records of 3,073; it is truncated"):
        Cifar10Source(tmp_path, DataSplit.TEST)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data_batch_1.bin: can't be opened: No such file"):
        Cifar10Source(tmp_path)


def test_pickled_batches_are_never_unpickled(tmp_path: Path) -> None:
    (tmp_path / "data_batch_1").write_bytes(b"\x80\x02}q\x01.")
    with pytest.raises(DataError, match=r"data_batch_1: the file is a pickle, which isn't safe to read; download"):
        Cifar10Source(tmp_path)


load_digits = pytest.importorskip("sklearn.datasets").load_digits


def items(source: DigitsSource) -> tuple[np.ndarray, np.ndarray]:
    found = [source.item(source.fetch(index)) for index in range(len(source))]
    return np.stack([image for image, _ in found]), np.array([label.item() for _, label in found])


def test_all_digits_are_read_as_bytes() -> None:
    images, labels = items(DigitsSource())
    expected = load_digits()
    assert (images.shape, images.dtype) == ((1797, 1, 8, 8), np.uint8)
    np.testing.assert_array_equal(labels, expected.target)
    # sixteen steps from black to white: each value is within half a step
    np.testing.assert_allclose(images[:, 0], expected.images * 255 / 16, atol=0.5)


def test_both_parts_make_up_the_whole_set_with_equal_shares_of_digits() -> None:
    (train, train_labels), (test, test_labels) = (
        items(DigitsSource(DataSplit.TRAIN)),
        items(DigitsSource(DataSplit.TEST)),
    )
    together = {image.tobytes() for image in (*train, *test)}
    assert len(train) + len(test) == 1797
    assert together == {image.tobytes() for image in items(DigitsSource())[0]}
    for digit in range(10):
        number = np.sum(test_labels == digit)
        assert number == (number + np.sum(train_labels == digit)) // 5
