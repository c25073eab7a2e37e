from __future__ import annotations

from math import inf
from statistics import fmean

import pytest

from netdsl.distributed.simulator.machines import Machines
from netdsl.errors import DistributedError


def test_the_last_ones_are_slow() -> None:
    machines = Machines(0.5, size=3, stragglers=1, slowdown=4.0)
    assert [machines(rank, 7) for rank in range(3)] == [0.5, 0.5, 2.0]


def test_jitter_is_chance_that_comes_out_the_same_each_time() -> None:
    machines = Machines(2.0, size=2, jitter=0.3, seed=5)
    steps = [machines(rank, iteration) for rank in range(2) for iteration in range(500)]
    assert steps == [machines(rank, iteration) for rank in range(2) for iteration in range(500)]
    assert len(set(steps)) == len(steps)
    assert fmean(steps) == pytest.approx(2.0, rel=0.03)  # three times what the mean of 1000 such steps varies by
    assert Machines(2.0, size=2, jitter=0.3, seed=6)(0, 0) != steps[0]


@pytest.mark.parametrize("wrong", [{"stragglers": 3}, {"step": -1.0}, {"slowdown": 0.0}, {"jitter": -0.1}, {"lost": 2}])
def test_what_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(DistributedError):
        Machines(**({"step": 1.0, "size": 2} | wrong))


def test_the_last_ones_are_lost_after_some_iterations() -> None:
    machines = Machines(0.5, size=3, lost=1, lost_after=7)
    assert [machines(rank, 7) for rank in range(3)] == [0.5] * 3
    assert [machines(rank, 8) for rank in range(3)] == [0.5, 0.5, inf]
