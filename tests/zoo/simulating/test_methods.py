from __future__ import annotations

import pytest

from netdsl.distributed.simulator.link import ExchangeKind
from netdsl.distributed.strategies.averaging import ModelAveraging
from zoo.simulating.methods import Method, MethodComparison, MethodResult, common_end
from zoo.simulating.trial import AccuracyPoint, TrialOutcome

SIZE = 8_000


@pytest.mark.parametrize("ratio", [10, 100])
def test_all_methods_have_one_network_and_its_exchange_takes_so_many_iterations(ratio: int) -> None:
    comparison = MethodComparison(workers=8, seeds=2)
    trials = [comparison.trials(method, ratio, SIZE) for method in Method]
    links = {trial.link for each in trials for trial in each}
    assert [len(each) for each in trials] == [2] * 4
    assert {trial.machines.step for each in trials for trial in each} == {1.0}
    assert len(links) == 1
    assert links.pop().seconds(ExchangeKind.MEAN, 8, SIZE) == pytest.approx(ratio)
    assert [each[0].plan.workers for each in trials] == [1, 8, 8, 8]


def test_the_server_of_elastic_averaging_can_keep_up() -> None:
    comparison = MethodComparison(workers=8)
    elastic = comparison.trials(Method.ELASTIC, 10, SIZE)[0]
    tau = elastic.plan.strategy.tau
    assert tau - 1 < 8 * elastic.link.seconds(ExchangeKind.SEND, 2, SIZE) <= tau


def test_medians_and_curves_over_the_seeds() -> None:
    def outcome(*accuracies: float) -> TrialOutcome:
        points = tuple(
            AccuracyPoint(1.0 + 10.0 * number, number, accuracy) for number, accuracy in enumerate(accuracies)
        )
        return TrialOutcome(points, (), 30.0)

    outcomes = (outcome(0.1, 0.5, 0.9), outcome(0.1, 0.9, 0.8), outcome(0.4, 0.4, 0.4))
    course = MethodResult(Method.MPCA, 10, MethodComparison().strategy(Method.MPCA, 10), outcomes)
    assert course.time_to_reach(0.5) == 11.0
    assert course.time_to_reach(0.9) == 21.0
    assert course.time_to_reach(0.95) is None
    assert course.curve([0.0, 12.0, 25.0]) == pytest.approx([0.8, 0.4, 0.3])


def test_what_counts_in_the_end_is_the_last_tenth_of_the_time_that_all_have() -> None:
    points = [AccuracyPoint(float(time), time, 0.5 if time < 90 else 0.8 if time < 95 else 0.9) for time in range(120)]
    long, short = (
        MethodResult(Method.MPCA, 10, ModelAveraging(), (TrialOutcome(tuple(each), (), 0.0),))
        for each in (points, points[:101])
    )
    end = common_end([long, short])
    assert end == 100.0
    assert (
        long.final_accuracy(end) == short.final_accuracy(end) == pytest.approx(0.85, abs=0.005)
    )  # the middle counts to one half
