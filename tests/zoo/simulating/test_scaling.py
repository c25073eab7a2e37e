from __future__ import annotations

import pytest

from netdsl.distributed.machines import ExchangeKind, Link, Machines
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from zoo.simulating.figures import scaling_table
from zoo.simulating.scaling import (
    BY_TAU,
    BY_WORKERS,
    BYTES,
    CLUSTER,
    AlexNetTask,
    ScalingExperiment,
    ScalingResult,
    select,
)
from zoo.simulating.trials import AccuracyPoint, Trial, TrialOutcome


def result(workers: int, tau: int, hours: float) -> ScalingResult:
    points = (AccuracyPoint(0.0, 0, 0.1), AccuracyPoint(3600 * hours, 100, 0.9))
    return ScalingResult(workers, tau, outcomes=(TrialOutcome(points, (), 3600 * hours),))


def test_five_models_are_exchanged_in_the_time_of_ten_iterations_as_published() -> None:
    assert CLUSTER.seconds(ExchangeKind.MEAN, 5, BYTES) == pytest.approx(20, rel=0.01)  # "about 20 s"
    # the driver collects all ten models
    assert CLUSTER.seconds(ExchangeKind.MEAN, 10, BYTES) == pytest.approx(33, rel=0.01)


def test_small_models_take_as_long_as_large_ones() -> None:
    single, several = (ScalingExperiment(seeds=2).trials(workers, 50, 1000) for workers in (1, 5))
    assert [len(single), len(several)] == [2, 2]
    assert single[0].link == Link()
    expected = CLUSTER.seconds(ExchangeKind.MEAN, 5, BYTES)
    assert several[0].link.seconds(ExchangeKind.MEAN, 5, 1000) == pytest.approx(expected)


def test_speedups_are_relative_to_one_worker() -> None:
    table = scaling_table([result(1, 50, 3.0), result(5, 50, 1.5), result(5, 20, 2.0)], 0.9)
    assert table[1:] == [("1", "50", "3.00", "1.00"), ("5", "50", "1.50", "2.00"), ("5", "20", "2.00", "1.50")]
    assert scaling_table([result(1, 50, 3.0)], 0.95)[1] == ("1", "50", "", "")


def test_each_picture_has_its_curves() -> None:
    results = [result(*case, 1.0) for case in {*BY_WORKERS, *BY_TAU}]
    assert [(each.workers, each.tau) for each in select(results, BY_TAU)] == list(BY_TAU)


def test_the_small_alexnet_trains() -> None:
    plan = Run(AlexNetTask(iterations=2).settings(1, 1), ModelAveraging(1), 2)
    outcome = Trial(plan, Link(), Machines(1.0, 2)).run()
    assert [usage.steps for usage in outcome.usages] == [2, 2]
