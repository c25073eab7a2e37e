from __future__ import annotations

import numpy as np
import pytest

from netdsl.distributed.machines import Machines
from netdsl.planner.slowest import slowest_seconds, steps_until


@pytest.mark.parametrize(
    ("machines", "iterations", "wanted"),
    [
        (Machines(2.0, 4), 5, 10.0),
        (Machines(2.0, 4, stragglers=1, slowdown=3.0), 5, 30.0),
        (Machines(2.0, 4, stragglers=1, slowdown=0.5), 5, 10.0),
        (Machines(2.0, 2, stragglers=2, slowdown=0.5), 5, 5.0),
        (Machines(2.0, 1, jitter=0.5), 5, 10.0),  # jitter doesn't change the mean
        (Machines(0.0, 4, jitter=0.5), 5, 0.0),
        (Machines(2.0, 4, jitter=0.5), 0, 0.0),
    ],
)
def test_without_chance_it_is_the_time_of_the_slowest(machines: Machines, iterations: int, wanted: float) -> None:
    assert slowest_seconds(machines, iterations) == pytest.approx(wanted)


@pytest.mark.parametrize("jitter", [0.05, 0.3, 1.0])
@pytest.mark.parametrize(("size", "stragglers"), [(2, 0), (8, 0), (8, 1), (64, 3)])
def test_of_one_iteration_it_is_the_mean_of_the_largest_of_lognormal_times(
    jitter: float, size: int, stragglers: int
) -> None:
    machines = Machines(2.0, size, stragglers, 1.2, jitter)
    times = np.random.default_rng(1).lognormal(-(jitter**2) / 2, jitter, (200_000, size)) * 2.0
    times[:, size - stragglers :] *= 1.2
    assert slowest_seconds(machines, 1) == pytest.approx(times.max(axis=1).mean(), rel=0.01)


@pytest.mark.parametrize("iterations", [2, 10])
def test_of_several_iterations_it_is_close_to_the_mean_of_the_largest_sum(iterations: int) -> None:
    machines = Machines(2.0, 8, jitter=0.5)
    sums = sum(np.random.default_rng(n).lognormal(-(0.5**2) / 2, 0.5, (100_000, 8)) * 2.0 for n in range(iterations))
    assert slowest_seconds(machines, iterations) == pytest.approx(sums.max(axis=1).mean(), rel=0.01)


@pytest.mark.parametrize(("seconds", "step", "wanted"), [(4.0, 1.5, 3), (4.5, 1.5, 3), (0.1, 1.5, 1), (4.0, 0.0, 1)])
def test_an_iteration_that_is_begun_is_finished(seconds: float, step: float, wanted: int) -> None:
    assert steps_until(seconds, step, 0.0) == wanted


def test_with_jitter_so_many_are_begun_on_the_average() -> None:
    times = np.random.default_rng(1).lognormal(-(0.4**2) / 2, 0.4, (100_000, 40)) * 1.5
    begun = 1 + (times.cumsum(axis=1) < 10.0).sum(axis=1)
    assert steps_until(10.0, 1.5, 0.4) == pytest.approx(begun.mean(), rel=0.01)
