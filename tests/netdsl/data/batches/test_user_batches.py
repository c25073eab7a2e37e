"""Batches and items that the user's program provides."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.data.batches.user_batches import UserBatches
from netdsl.errors import DataError

SHAPES = {"label": (2, 1), "data": (2, 3, 4, 5)}


def batch(number: int) -> dict[str, np.ndarray]:
    return {"data": np.full((2, 3, 4, 5), number, np.float32), "label": np.array([number, number])}


def test_batches_are_given_by_name_and_not_copied() -> None:
    values = [batch(0), batch(1)]
    given = UserBatches(values, SHAPES)
    labels, images = next(given)
    assert images.data_ptr() == values[0]["data"].ctypes.data
    assert labels.tolist() == [[0], [0]]
    assert labels.dtype == torch.float32
    assert [float(next(given)[0][0]) for _ in range(3)] == [1, 0, 1]
    assert given.position == 4


def test_a_batch_may_have_another_size_or_be_a_tuple_or_tensors() -> None:
    images = torch.rand(7, 3, 6, 5)
    labels, found = next(UserBatches(iter([(torch.arange(7), images)]), SHAPES))
    assert found is images
    assert labels.tolist() == [[each] for each in range(7)]


def test_a_batch_in_the_nets_own_shapes_may_have_more_boxes_than_images() -> None:
    shapes = {"data": (2, 3, 4, 5), "boxes": (7, 5), "truth": (1, 1, 6, 8)}
    values = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    assert [tuple(tensor.shape) for tensor in next(UserBatches([values], shapes))] == list(shapes.values())
    with pytest.raises(DataError, match=r"'boxes' has shape \[7, 5\], which can't be reshaped to \[3, 5\]"):
        next(UserBatches([{**values, "data": np.zeros((3, 3, 4, 5), np.float32)}], shapes))


def test_read_only_arrays_are_copied() -> None:
    values = batch(1)
    values["data"].flags.writeable = False
    next(UserBatches([values], SHAPES))[1].zero_()
    assert values["data"].all()


def test_items_are_combined_into_batches() -> None:
    rows = ({"data": np.full((3, 4, 5), number, np.uint8), "label": number} for number in range(4))
    given = UserBatches(rows, SHAPES)
    for wanted in ([0, 1], [2, 3]):
        labels, images = next(given)
        assert labels.tolist() == [[each] for each in wanted]
        assert images[:, 2, 3, 4].tolist() == wanted
        assert images.shape == (2, 3, 4, 5)


def test_a_function_is_called_for_every_batch() -> None:
    numbers = iter(range(3))
    given = UserBatches(lambda: batch(next(numbers)), SHAPES)
    assert [float(next(given)[0][0]) for _ in range(3)] == [0, 1, 2]


def test_an_iterable_restarts_and_an_iterator_does_not() -> None:
    values = [batch(number) for number in range(5)]
    given = UserBatches(values, SHAPES)
    given.seek(3)
    assert float(next(given)[0][0]) == 3
    given.seek(1)
    assert float(next(given)[0][0]) == 1
    once = UserBatches(iter(values), SHAPES)
    once.seek(2)
    assert float(next(once)[0][0]) == 2
    with pytest.raises(DataError, match="can't go back from batch 3 to batch 1"):
        once.seek(1)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (
            [{"data": np.zeros((2, 3, 4, 5))}],
            "the net reads 'label' and 'data', but the items contain 'data'",
        ),
        ([(np.zeros(2),)], "the net reads 'label' and 'data', but the items contain 1 array"),
        ([{"data": np.zeros((4, 5)), "label": 1}], r"'data' has shape \[4, 5\]; give a batch of 4 axes"),
        ([{"data": np.zeros((2, 3, 4, 5)), "label": np.zeros(3)}], r"'label' has shape \[3\], .*\[2, 1\]"),
        ([{"data": np.zeros((3, 4, each)), "label": 1} for each in (5, 6)], "'data' has items of different shapes"),
        ([], "the data are empty; pass at least"),
        (iter([]), "the data are empty; pass at least"),
    ],
)
def test_data_that_do_not_fit_are_refused(values, why: str) -> None:
    with pytest.raises(DataError, match=why):
        next(UserBatches(values, SHAPES))
