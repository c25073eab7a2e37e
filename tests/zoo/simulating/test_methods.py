from __future__ import annotations

import pytest

from netdsl.distributed.machines import ExchangeKind, Link
from netdsl.distributed.strategies.averaging import ModelAveraging
from zoo.simulating.methods import SETTINGS, Method, MethodComparison, MethodResult, NetworkKind, Setting, common_end
from zoo.simulating.trials import AccuracyPoint, TrialOutcome

SIZE = 8_000
RING, SPARK = Setting(NetworkKind.SWITCH, 10), Setting(NetworkKind.SPARK, 10)


@pytest.mark.parametrize("setting", SETTINGS)
def test_all_methods_use_one_network_with_the_given_exchange_time(setting: Setting) -> None:
    comparison = MethodComparison(workers=8, seeds=2)
    single, *several = (comparison.trials(method, setting, SIZE) for method in Method)
    links = {trial.link for each in several for trial in each}
    assert [len(each) for each in (single, *several)] == [2] * 4
    assert {trial.machines.step for each in (single, *several) for trial in each} == {1.0}
    assert len(links) == 1
    assert links.pop().seconds(ExchangeKind.MEAN, 8, SIZE) == pytest.approx(setting.ratio)
    assert [each[0].plan.workers for each in (single, *several)] == [1, 8, 8, 8]
    assert single[0].link == Link()  # so that it is trained once for all networks


def test_a_mean_costs_the_papers_number_of_sends() -> None:
    assert SPARK.sends(8) == pytest.approx(12.6)
    assert RING.sends(8) == pytest.approx(1.75)


@pytest.mark.parametrize("setting", [RING, SPARK])
def test_the_server_of_elastic_averaging_can_keep_up(setting: Setting) -> None:
    elastic = MethodComparison(workers=8).trials(Method.ELASTIC, setting, SIZE)[0]
    tau = elastic.plan.strategy.tau
    assert tau - 1 < 1.3 * 8 * elastic.link.seconds(ExchangeKind.SEND, 2, SIZE) <= tau


def test_medians_and_curves_are_computed_over_the_seeds() -> None:
    def outcome(*accuracies: float) -> TrialOutcome:
        points = tuple(
            AccuracyPoint(1.0 + 10.0 * number, number, accuracy) for number, accuracy in enumerate(accuracies)
        )
        return TrialOutcome(points, (), 30.0)

    outcomes = (outcome(0.1, 0.5, 0.9), outcome(0.1, 0.9, 0.8), outcome(0.4, 0.4, 0.4))
    course = MethodResult(Method.MPCA, RING, MethodComparison().strategy(Method.MPCA, RING), outcomes=outcomes)
    assert course.time_to_reach(0.5) == 11.0
    assert course.time_to_reach(0.9) == 21.0
    assert course.time_to_reach(0.95) is None
    assert course.curve([0.0, 12.0, 25.0]) == pytest.approx([0.8, 0.4, 0.3])


def test_the_final_accuracy_is_that_of_the_last_tenth_of_the_common_time() -> None:
    points = [AccuracyPoint(float(time), time, 0.5 if time < 90 else 0.8 if time < 95 else 0.9) for time in range(120)]
    long, short = (
        MethodResult(Method.MPCA, RING, ModelAveraging(), outcomes=(TrialOutcome(tuple(each), (), 0.0),))
        for each in (points, points[:101])
    )
    end = common_end([long, short])
    assert end == 100.0
    # The midpoint counts half.
    assert long.final_accuracy(end) == short.final_accuracy(end) == pytest.approx(0.85, abs=0.005)
