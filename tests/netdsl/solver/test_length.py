"""The length of training: epochs count the items that were seen, and intervals end where Caffe's do."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from netdsl.errors import SolverError
from netdsl.solver.length import Epoch, Intervals, is_due


@pytest.mark.parametrize("items", [1, 31, 32, 33, 100, 1437])
@pytest.mark.parametrize("at_once", [1, 2, 3])
@pytest.mark.parametrize("epochs", [0.5, 1, 6, 20])
def test_training_sees_every_item_once_per_epoch_plus_part_of_an_iteration(
    items: int, at_once: int, epochs: float
) -> None:
    epoch = Epoch.of(Fraction(items, 32), iter_size=2, batches_at_once=at_once)
    seen = epoch.iterations_of(epochs) * 32 * 2 * at_once
    assert 0 <= seen - epochs * items < 32 * 2 * at_once


@pytest.mark.parametrize("epochs", [0, -1, math.inf, math.nan])
def test_an_impossible_number_of_epochs_is_refused(epochs: float) -> None:
    with pytest.raises(SolverError, match="give a number above 0"):
        Epoch(Fraction(3)).iterations_of(epochs)


@pytest.mark.parametrize(("iterations", "interval"), [("1/9", 1), ("7/2", 4), ("10/3", 3), ("5", 5)])
def test_the_interval_of_an_epoch_is_a_whole_number(iterations: str, interval: int) -> None:
    assert Epoch(Fraction(iterations)).interval == interval


def due(interval: Fraction, last: int) -> list[int]:
    return [iteration for iteration in range(1, last + 1) if is_due(interval, iteration - 1, iteration)]


def test_actions_are_due_at_multiples_of_their_interval() -> None:
    assert due(Fraction(4), 13) == [4, 8, 12]
    assert due(Fraction(0), 13) == []


def test_epochs_end_once_all_their_items_were_seen() -> None:
    epoch = Epoch(Fraction(10, 3))
    ends = [epoch.iterations_of(number) for number in range(1, 7)]
    assert due(epoch.iterations, 20) == ends == [4, 7, 10, 14, 17, 20]


def test_the_next_due_iteration_is_found() -> None:
    intervals = Intervals(Fraction(10, 3), Fraction(5))
    assert [intervals.next_due(iteration) for iteration in (0, 3, 4, 5, 7, 9, 10)] == [4, 4, 5, 7, 10, 10, 14]
    assert Intervals().next_due(5) is None
    assert Intervals(Fraction(1, 3)).next_due(5) == 6
