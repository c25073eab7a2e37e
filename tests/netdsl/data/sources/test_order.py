"""The order of items."""

from __future__ import annotations

from itertools import groupby

import pytest

from netdsl.data.sources.order import Order


def indices(order: Order, count: int) -> list[int]:
    return [order.index(order.place(number)) for number in range(count)]


def test_items_come_in_order_and_repeat() -> None:
    assert indices(Order((3,)), 7) == [0, 1, 2, 0, 1, 2, 0]
    assert indices(Order((5,), start=3), 4) == [3, 4, 0, 1]


def test_every_epoch_is_shuffled_differently() -> None:
    order = Order((50,), shuffle=True, seed=3)
    first, second = indices(order, 100)[:50], indices(order, 100)[50:]
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    assert first != sorted(first)
    assert indices(Order((50,), shuffle=True, seed=4), 50) != first
    assert indices(Order((50,), shuffle=True, seed=3), 50) == first


def test_groups_stay_together_when_they_are_shuffled() -> None:
    order, orders = Order((20, 0, 30, 40), shuffle=True, seed=1), set()
    for epoch in range(9):
        found = [order.index(epoch * 90 + at) for at in range(90)]
        assert sorted(found) == list(range(90))
        runs = [list(run) for _, run in groupby(found, key=lambda index: (index >= 20) + (index >= 50))]
        assert sorted(map(len, runs)) == [20, 30, 40]
        assert all(run != sorted(run) for run in runs)
        orders.add(tuple(map(len, runs)))
    assert len(orders) > 1


@pytest.mark.parametrize("shuffle", [False, True])
def test_ranks_share_all_items(shuffle: bool) -> None:
    whole = indices(Order((7,), shuffle=shuffle, seed=5), 12)
    parts = [indices(Order((7,), shuffle=shuffle, seed=5, rank=rank, size=3), 4) for rank in range(3)]
    assert [index for items in zip(*parts, strict=True) for index in items] == whole


@pytest.mark.parametrize("shuffle", [False, True])
def test_many_places_are_looked_up_at_once(shuffle: bool) -> None:
    order = Order((3, 4), shuffle=shuffle, seed=5, start=2, rank=1, size=3)
    for number, count in ((0, 6), (4, 1), (1, 30)):
        assert order.indices(number, count).tolist() == indices(order, number + count)[number:]


def test_random_numbers_depend_on_the_seed_and_the_place() -> None:
    draws = {
        (seed, place): Order((5,), seed=seed).random(place).integers(1 << 60) for seed in (0, 1) for place in (4, 9)
    }
    assert len(set(draws.values())) == 4
    assert draws[1, 9] == Order((5,), seed=1, rank=2, size=3).random(9).integers(1 << 60)
