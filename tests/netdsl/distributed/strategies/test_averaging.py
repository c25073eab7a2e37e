"""Model averaging: what it equals, what it leaves unchanged, and the results of workers of different speed."""

from __future__ import annotations

import pytest
import torch

from netdsl.distributed.machines import Link
from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.errors import DistributedError

# Sums of a few float32 numbers near 1 in another order, over a few steps.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def test_averaging_after_every_step_is_averaging_gradients(train) -> None:
    averaged, reduced = train(ModelAveraging(tau=1), 3), train(AllReduce(tau=4), 3)
    torch.testing.assert_close(averaged[0].weights, reduced[0].weights, **CLOSE)
    assert not torch.equal(averaged[0].weights, averaged[0].begun)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_workers_with_the_same_data_equal_one_worker(train, alone, batches, size: int) -> None:
    found = train(ModelAveraging(tau=3), size, data=lambda rank: batches(0), momentum=0.9)
    close = {"rtol": 0, "atol": 0} if size != 3 else CLOSE  # a third isn't a floating-point number
    torch.testing.assert_close(found[0].weights, alone(batches(0), momentum=0.9).weights.buffer, **close)


def test_all_workers_have_the_same_weights_after_every_round(train) -> None:
    found = train(ModelAveraging(tau=3), 3)  # the last round has two iterations
    assert [record.steps for record in found[1].records] == [3, 3, 2]
    for one, two, three in zip(*(each.own for each in found), strict=True):
        assert torch.equal(one, two)
        assert torch.equal(one, three)


def test_the_assignment_of_data_to_workers_does_not_matter(train, batches) -> None:
    forth, back = (train(ModelAveraging(tau=2), 3, data=each) for each in (batches, lambda rank: batches(2 - rank)))
    torch.testing.assert_close(forth[0].weights, back[0].weights, **CLOSE)


def test_each_worker_keeps_its_own_momentum(train) -> None:
    one, two = train(ModelAveraging(tau=2), momentum=0.9)
    assert not torch.allclose(one.solver.updater.histories[0], two.solver.updater.histories[0])


def test_sums_of_batch_norm_are_averaged(train, normed) -> None:
    one, two = train(ModelAveraging(tau=4), net=normed, max_iter=4)
    apart = [each.weights.clone() for each in train(ModelAveraging(tau=4), net=normed, max_iter=3)]
    learned = one.worker.learned
    assert one.weights[learned:].abs().sum() > 0
    assert torch.equal(one.weights[learned:], two.weights[learned:])
    assert not torch.equal(one.weights[learned:], apart[0][learned:])


def test_in_timed_rounds_models_are_weighted_by_their_iterations(train, alone, batches) -> None:
    paces = {0: 1.0, 1: 3.0}
    strategy = ModelAveraging(seconds=6)
    one, two = train(strategy, pace=lambda rank, iteration: paces[rank], max_iter=4)
    assert (one.records[0].steps, two.records[0].steps) == (4, 2)
    first, second = (alone(batches(rank), max_iter=count).weights.buffer for rank, count in ((0, 4), (1, 2)))
    expected = (4 * first + 2 * second) / 6
    torch.testing.assert_close(one.models[0], expected, **CLOSE)
    assert one.solver.iteration == two.solver.iteration


def test_the_first_worker_warms_up_for_all(train, alone, batches) -> None:
    found = train(ModelAveraging(tau=5, warmup=3))
    warm = alone(batches(0), max_iter=3).weights.buffer
    assert torch.equal(found[1].models[0], warm)
    assert [record.iteration for record in found[1].records] == [3, 8]
    assert found[1].records[0].steps == 0


def test_auto_chooses_five_times_the_cost(train) -> None:
    # averaging two workers takes two seconds, and an iteration one
    found = train(ModelAveraging(tau="auto"), link=Link(latency=1.0), max_iter=40)
    assert [record.steps for record in found[0].records[:4]] == [1, 1, 10, 10]


def test_fast_workers_wait_for_a_slow_one(train) -> None:
    found = train(ModelAveraging(tau=4), 3, pace=lambda rank, iteration: 1.0 + rank)
    assert {each.time for each in found} == {24.0}
    assert found[0].records[0].wait == 8.0
    assert found[2].records[0].wait == 0.0


@pytest.mark.parametrize("settings", [{"tau": 0}, {"seconds": -1.0}, {"warmup": -1}])
def test_impossible_settings_are_refused(settings) -> None:
    with pytest.raises(DistributedError):
        ModelAveraging(**settings)
