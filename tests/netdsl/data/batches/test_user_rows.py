"""Batches of rows that the user's program provides."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from netdsl.data.batches.user_rows import ArrayRows, RowBatches
from netdsl.errors import DataError

NUMBERS = np.arange(5)
IMAGES = np.zeros((5, 3, 6, 7), np.uint8)


def test_rows_come_in_order_and_wrap_around() -> None:
    batches = RowBatches(ArrayRows((NUMBERS,)), {"x": (3, 1)}, 3)
    assert [next(batches)[0].flatten().tolist() for _ in range(3)] == [[0, 1, 2], [3, 4, 0], [1, 2, 3]]
    assert batches.position == 3 and batches.epoch_batches() == Fraction(5, 3)
    batches.seek(1)
    assert next(batches)[0].tolist() == [[3], [4], [0]]


def test_shuffled_rows_are_the_same_after_a_seek() -> None:
    batches = RowBatches(ArrayRows((NUMBERS,), shuffle=True), {"x": ()}, 5, seed=4)
    first, second = (next(batches)[0].tolist() for _ in range(2))
    assert first != second and sorted(first) == sorted(second) == NUMBERS.tolist()
    batches.seek(1)
    assert next(batches)[0].tolist() == second


@pytest.mark.parametrize("stated", [(), (4, 3, -1, -1), (4, 3, 8, 8)])
def test_images_have_the_size_of_the_array(stated: tuple[int, ...]) -> None:
    batches = RowBatches(ArrayRows({"x": IMAGES}), {"x": stated}, 2)
    assert batches.shapes == {"x": (2, 3, 6, 7)} and next(batches)[0].shape == (2, 3, 6, 7)


def test_a_batch_does_not_change_the_users_arrays() -> None:
    rows = np.ones((4, 2), np.float32)
    next(RowBatches(ArrayRows((rows,)), {"x": (2, 2)}, 2))[0].zero_()
    assert rows.all()


def test_a_batch_without_items_is_refused() -> None:
    with pytest.raises(DataError, match="the batch size is 0"):
        RowBatches(ArrayRows((NUMBERS,)), {"x": ()}, 0)
