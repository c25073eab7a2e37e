"""scikit-learn's digits."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.data.sources.known_sets import DigitsSource
from netdsl.data.sources.source import DataSplit

load_digits = pytest.importorskip("sklearn.datasets").load_digits


def items(source: DigitsSource) -> tuple[np.ndarray, np.ndarray]:
    found = [source.item(source.fetch(index)) for index in range(len(source))]
    return np.stack([image for image, _ in found]), np.array([label.item() for _, label in found])


def test_all_digits_are_there_with_values_of_bytes() -> None:
    images, labels = items(DigitsSource())
    expected = load_digits()
    assert (images.shape, images.dtype) == ((1797, 1, 8, 8), np.uint8)
    np.testing.assert_array_equal(labels, expected.target)
    # sixteen steps from black to white: no value is more than half a step of bytes off
    np.testing.assert_allclose(images[:, 0], expected.images * 255 / 16, atol=0.5)


def test_the_halves_are_the_whole_and_have_the_same_share_of_every_digit() -> None:
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
