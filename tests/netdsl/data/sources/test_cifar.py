"""CIFAR's binary records, written here byte by byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.known_sets import Cifar10Source, Cifar100Source
from netdsl.data.sources.source import DataSplit
from netdsl.errors import DataError


def record(*labels: int, start: int) -> bytes:
    return bytes(labels) + pixels(start).tobytes()


def pixels(start: int) -> np.ndarray:
    return ((np.arange(3072) * 7 + start) % 251).astype(np.uint8).reshape(3, 32, 32)


def test_all_training_batches_follow_each_other(tmp_path: Path) -> None:
    for batch in range(5):  # of different lengths, so that a mistake at their borders is seen
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


def test_a_cut_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "test_batch.bin").write_bytes(record(9, start=1)[:-1])
    with pytest.raises(DataError, match=r"test_batch.bin: its 3,072 bytes aren't records of 3,073; it is truncated"):
        Cifar10Source(tmp_path, DataSplit.TEST)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data_batch_1.bin: can't be opened: No such file"):
        Cifar10Source(tmp_path)


def test_pickled_batches_are_never_read(tmp_path: Path) -> None:
    (tmp_path / "data_batch_1").write_bytes(b"\x80\x02}q\x01.")
    with pytest.raises(DataError, match=r"data_batch_1: is a pickle, which isn't safe to read; download"):
        Cifar10Source(tmp_path)
