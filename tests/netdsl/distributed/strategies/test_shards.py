"""Shards: equal parts of a buffer, and turns in which each is reduced before it is broadcast."""

from __future__ import annotations

import pytest

from netdsl.distributed.strategies.shards import ShardStep, cut, lag, step_of


@pytest.mark.parametrize(("size", "count"), [(4800, 3), (5008, 3), (64, 1), (16, 3), (1 << 20, 7)])
def test_shards_are_all_of_the_buffer_in_nearly_equal_parts(size: int, count: int) -> None:
    shards = cut(size, count)
    assert [place.start for place in shards[1:]] == [place.stop for place in shards[:-1]]
    assert (shards[0].start, shards[-1].stop, len(shards)) == (0, size, count)
    lengths = [place.stop - place.start for place in shards]
    assert max(lengths) - min(lengths) <= 32  # each end is at the nearest multiple of 16
    assert all(place.start % 16 == 0 for place in shards)


def test_one_shard_is_reduced_and_broadcast_in_turn() -> None:
    assert [step_of(number, 1) for number in range(3)] == [ShardStep(0, None), ShardStep(None, 0), ShardStep(0, None)]


def test_of_two_one_is_reduced_while_the_other_is_broadcast() -> None:
    assert [step_of(number, 2) for number in range(3)] == [ShardStep(0, None), ShardStep(1, 0), ShardStep(0, 1)]


def test_of_three_one_is_left_to_be_prepared() -> None:
    assert [step_of(number, 3) for number in range(5)] == [
        ShardStep(0, None),
        ShardStep(1, None),
        ShardStep(2, 0),
        ShardStep(0, 1),
        ShardStep(1, 2),
    ]


@pytest.mark.parametrize("count", range(1, 7))
def test_a_shard_is_broadcast_after_it_was_reduced_and_before_it_is_again(count: int) -> None:
    steps = [step_of(number, count) for number in range(40)]
    for number, step in enumerate(steps[: 40 - lag(count)]):
        if step.reduced is not None:
            assert steps[number + lag(count)].broadcast == step.reduced
            between = steps[number + 1 : number + lag(count)]
            assert all(each.reduced != step.reduced for each in between)
