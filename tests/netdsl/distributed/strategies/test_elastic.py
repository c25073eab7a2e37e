"""Elastic averaging: its equations written out, its equivalents, and Nesterov's momentum with it."""

from __future__ import annotations

import pytest
import torch

from netdsl.distributed.machines import Link
from netdsl.distributed.run_log import Activity
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.elastic import ElasticAveraging, SynchronousElastic, rates
from netdsl.errors import DistributedError

# The same sums of a few float32 numbers near 1 in another order, over a few steps.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}
BOTH = [ElasticAveraging, SynchronousElastic]


def test_worker_and_center_move_towards_each_other(train, gradient) -> None:
    found = train(ElasticAveraging(tau=2, alpha=0.3), 1, max_iter=6)[0]
    x = center = found.begun
    for number, (own, model) in enumerate(zip(found.own, found.models, strict=True)):
        for each in (2 * number, 2 * number + 1):
            x = x - 0.1 * gradient(found, x, each)
        x, center = x - 0.3 * (x - center), center + 0.3 * (x - center)  # Eqs. 2 and 3
        torch.testing.assert_close(own, x, **CLOSE)
        torch.testing.assert_close(model, center, **CLOSE)


def test_workers_move_to_the_center_and_the_center_to_their_mean(train, gradient) -> None:
    found = train(SynchronousElastic(tau=1, alpha=0.3, beta=0.8), 3, max_iter=5)
    xs = [found[0].begun] * 3
    center = found[0].begun
    for number in range(5):
        xs = [x - 0.1 * gradient(each, x, number) for x, each in zip(xs, found, strict=True)]
        xs, center = [x - 0.3 * (x - center) for x in xs], 0.2 * center + 0.8 * sum(xs) / 3  # Eqs. 2 and 8
        torch.testing.assert_close(found[2].own[number], xs[2], **CLOSE)
        torch.testing.assert_close(found[2].models[number], center, **CLOSE)


def test_rates_follow_from_elastic_symmetry() -> None:
    assert rates("auto", "auto", 3) == (pytest.approx(0.3), 0.9)
    assert rates(0.2, "auto", 4) == (0.2, 0.8)
    assert rates("auto", 0.5, 4) == (0.125, 0.5)
    assert rates(0.5, 0.5, 4) == (0.5, 0.5)


@pytest.mark.parametrize("strategy", BOTH)
def test_with_alpha_zero_workers_stay_independent_until_the_end(train, alone, batches, strategy) -> None:
    found = train(strategy(tau=2, alpha=0.0), momentum=0.9)
    for rank, each in enumerate(found):
        assert torch.equal(each.own[-1], alone(batches(rank), momentum=0.9).weights.buffer)
        assert torch.equal(each.weights, each.begun)  # the center, which no worker has pulled


@pytest.mark.parametrize("strategy", BOTH)
def test_at_the_end_all_workers_adopt_the_center(train, normed, strategy) -> None:
    found = train(strategy(tau=3), 3, net=normed)
    sums = found[0].weights[found[0].worker.learned :]
    assert sums.abs().sum() > 0  # the center includes BatchNorm's sums
    for each in found:
        assert torch.equal(each.weights, found[0].weights)
        assert torch.equal(each.strategy_run.model(), each.weights)


def test_workers_with_the_same_data_equal_one_worker(train, batches) -> None:
    many, one = (train(SynchronousElastic(tau=2, alpha=0.2, beta=0.8), n, data=lambda _: batches(0)) for n in (4, 1))
    assert torch.equal(many[0].weights, one[0].weights)


def test_the_assignment_of_data_to_workers_does_not_matter(train, batches) -> None:
    forth, back = (train(SynchronousElastic(tau=2), 3, data=each) for each in (batches, lambda rank: batches(2 - rank)))
    torch.testing.assert_close(forth[0].weights, back[0].weights, **CLOSE)


def test_replacing_the_center_by_the_mean_equals_averaging_at_first(train) -> None:
    elastic, averaged = (train(each, 3, max_iter=4) for each in (SynchronousElastic(4, beta=1.0), ModelAveraging(4)))
    assert torch.equal(elastic[0].weights, averaged[0].weights)


def test_fast_workers_do_not_wait_for_slow_ones(train) -> None:
    paces = (1.0, 1.0, 4.0)
    found = train(ElasticAveraging(tau=2), 3, pace=lambda rank, iteration: paces[rank], link=Link(latency=0.01))
    assert [each.records[-1].stop for each in found] == pytest.approx([8, 8, 32], abs=0.5)
    assert {each.time > 32 for each in found} == {True}  # except at the end


def test_the_center_sends_to_one_worker_at_a_time_and_replies_take_no_time(train) -> None:
    found = train(ElasticAveraging(tau=4), 2, link=Link(latency=1.0))
    lengths = [[record.stop - record.start for record in each.records] for each in found]
    assert lengths == [[4 + 1, 4 + 1], [4 + 2, 4 + 1]]


def test_the_push_is_recorded_as_overlapping_computation(train) -> None:
    found = train(ElasticAveraging(tau=4), 2, link=Link(latency=1.5))
    for each in found:
        computed, pulled, pushed = (
            [span for record in each.records for span in record.spans if span.activity is activity]
            for activity in (Activity.COMPUTE, Activity.EXCHANGE, Activity.PUSH)
        )
        assert len(pulled) == 2
        assert pushed[0].start == pulled[0].stop == computed[1].start
        assert pushed[0].stop == pushed[0].start + 2  # workers check for it between iterations
        assert computed[-1].stop - computed[1].start == 4


def test_a_fast_worker_waits_for_its_own_push(train) -> None:
    found = train(ElasticAveraging(tau=1), 1, link=Link(latency=3.0), max_iter=2)[0]
    assert [record.stop for record in found.records] == [1 + 3, 4 + max(1, 3) + 3]


def test_caffes_nesterov_takes_eamsgds_steps(train, gradient) -> None:
    """Weights are stored as y = x + m v. Gradients are computed there, and y is exchanged."""
    found = train(ElasticAveraging(tau=2, alpha=0.3), 1, type="Nesterov", momentum=0.9, max_iter=8)[0]
    x = center = found.begun
    v = torch.zeros_like(x)
    for number, own in enumerate(found.own):
        for each in (2 * number, 2 * number + 1):
            v = 0.9 * v - 0.1 * gradient(found, x + 0.9 * v, each)
            x = x + v
        y = x + 0.9 * v
        pull = 0.3 * (y - center)
        x, center = x - pull, center + pull
        torch.testing.assert_close(own, x + 0.9 * v, **CLOSE)


@pytest.mark.parametrize("settings", [{"tau": 0}, {"alpha": 1.5}, {"beta": -0.1}, {"alpha": 0.1, "beta": 0.2}])
def test_impossible_settings_are_refused(settings) -> None:
    with pytest.raises(DistributedError):
        ElasticAveraging(**settings)


def test_a_center_that_would_overshoot_is_refused(train) -> None:
    with pytest.raises(DistributedError, match=r"alpha of 0\.5 with 3 workers makes beta 1\.5"):
        train(SynchronousElastic(alpha=0.5), 3)
