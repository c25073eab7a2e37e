from __future__ import annotations

import numpy as np
import pytest

from netdsl.data.transforms.boxes import batch_rows, centred_rows
from netdsl.errors import ShapeError

IMAGE = np.zeros((3, 2, 2), np.float32)
ROWS = np.array([[3, 0, 0.25, 0.25, 0.5, 0.75, 0], [5, 1, 0.75, 0, 1, 0.5, 1]], np.float32)


def test_rows_of_a_batch_lie_behind_each_other_with_the_number_of_their_image() -> None:
    images, rows = batch_rows([(IMAGE, ROWS), (IMAGE + 1, ROWS[:0]), (IMAGE + 2, ROWS[:1])])
    assert images.shape == (3, 3, 2, 2) and images[:, 0, 0, 0].tolist() == [0, 1, 2]
    assert rows.dtype == np.float32
    assert rows.tolist() == [[[[0, *ROWS[0]], [0, *ROWS[1]], [2, *ROWS[0]]]]]


def test_a_batch_without_objects_has_a_row_of_minus_ones() -> None:
    _, rows = batch_rows([(IMAGE, ROWS[:0])] * 2)
    assert rows.dtype == np.float32 and rows.tolist() == [[[[-1] * 8]]]


def test_images_of_a_batch_have_one_size() -> None:
    with pytest.raises(ShapeError, match="bring them to one with resize_param"):
        batch_rows([(IMAGE, ROWS), (IMAGE[:, 1:], ROWS)])


def test_rows_for_yolo_are_centres_and_sizes_of_classes_from_0_on() -> None:
    rows = centred_rows(ROWS, difficult=True)
    assert rows.shape == (1, 300, 5) and rows.dtype == np.float32
    assert rows[0, :2].tolist() == [[2, 0.375, 0.5, 0.25, 0.5], [4, 0.875, 0.25, 0.25, 0.5]]
    assert not rows[0, 2:].any()
    assert centred_rows(ROWS, difficult=False)[0, :2].tolist() == [[2, 0.375, 0.5, 0.25, 0.5], [0] * 5]
    assert (centred_rows(np.repeat(ROWS, 200, axis=0), difficult=True)[0, :, 3] > 0).sum() == 300
