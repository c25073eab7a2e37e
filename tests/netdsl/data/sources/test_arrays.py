"""Rows gathered from parts."""

from __future__ import annotations

import numpy as np

from netdsl.data.sources.arrays import gather_rows

PARTS = [(np.arange(4) + 10, np.arange(8).reshape(4, 2)), (), (np.arange(3) + 20, np.arange(6).reshape(3, 2) + 10)]
ENDS = np.array([4, 4, 7])


def test_rows_come_in_the_requested_order() -> None:
    numbers, pairs = gather_rows(np.array([6, 1, 0, 6, 4, 3]), ENDS, PARTS.__getitem__)
    assert numbers.tolist() == [22, 11, 10, 22, 20, 13]
    assert pairs.tolist() == [[14, 15], [2, 3], [0, 1], [14, 15], [10, 11], [6, 7]]


def test_rows_at_even_distances_are_not_copied() -> None:
    for indices, shared in (([0, 1, 2], True), ([1, 3], True), ([2], True), ([0, 1, 3], False), ([2, 1], False)):
        numbers, _ = gather_rows(np.array(indices), ENDS, PARTS.__getitem__)
        assert numbers.tolist() == [10 + index for index in indices]
        assert np.shares_memory(numbers, PARTS[0][0]) == shared


def test_the_part_in_use_is_read_first() -> None:
    asked: list[int] = []

    def arrays(part: int) -> tuple[np.ndarray, ...]:
        asked.append(part)
        return PARTS[part]

    gather_rows(np.array([5, 6, 0, 5, 1]), ENDS, arrays)
    assert asked == [2, 0]


def test_rows_from_parts_of_different_types_cannot_be_combined() -> None:
    for other in (np.zeros(3, np.float64), np.zeros((3, 1), np.int64)):
        parts = [(np.zeros(4, np.int64),), (), (other,)]
        assert gather_rows(np.array([1, 5]), ENDS, parts.__getitem__) is None
        assert gather_rows(np.array([5, 4]), ENDS, parts.__getitem__) is not None
    assert gather_rows(np.array([1, 5]), ENDS, [PARTS[0], (), None].__getitem__) is None
