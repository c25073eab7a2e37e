"""The outer step: its equivalent without momentum, and its equations written out."""

from __future__ import annotations

import pytest
import torch

from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.outer import OuterMomentum

# A step from the old weights by a difference, instead of the mean directly, in float32.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def test_without_momentum_and_with_rate_one_the_step_equals_averaging(train) -> None:
    outer, averaged = train(OuterMomentum(tau=3, lr=1, momentum=0), 3), train(ModelAveraging(tau=3), 3)
    torch.testing.assert_close(outer[0].weights, averaged[0].weights, **CLOSE)


def test_the_step_is_nesterovs(train, batches) -> None:
    strategy = OuterMomentum(tau=2, lr=0.5, momentum=0.8)
    found = train(strategy, 1, data=lambda rank: batches(0)[:2], max_iter=6)[0]
    before, velocity = found.begun, torch.zeros_like(found.begun)
    for after in found.models:
        inner = train(ModelAveraging(tau=2), 1, data=lambda rank: batches(0)[:2], max_iter=2, first=before)[0].weights
        velocity = 0.8 * velocity + (before - inner)
        expected = before - 0.5 * (before - inner + 0.8 * velocity)
        torch.testing.assert_close(after, expected, **CLOSE)
        before = after


def test_sums_of_batch_norm_are_only_averaged(train, normed) -> None:
    settings = {"net": normed, "max_iter": 4}
    outer, averaged = train(OuterMomentum(tau=4, lr=0.5), **settings), train(ModelAveraging(tau=4), **settings)
    learned = outer[0].worker.learned
    assert torch.equal(outer[0].weights[learned:], averaged[0].weights[learned:])
    assert not torch.equal(outer[0].weights[:learned], averaged[0].weights[:learned])


def test_all_workers_have_the_same_weights_and_velocity(train) -> None:
    one, two, three = train(OuterMomentum(tau=3), 3, momentum=0.9)
    for other in (two, three):
        assert torch.equal(one.weights, other.weights)
        assert torch.equal(one.strategy_run.state()["velocity"], other.strategy_run.state()["velocity"])


def test_the_assignment_of_data_to_workers_does_not_matter(train, batches) -> None:
    forth, back = (train(OuterMomentum(tau=2), 3, data=each) for each in (batches, lambda rank: batches(2 - rank)))
    torch.testing.assert_close(forth[0].weights, back[0].weights, **CLOSE)


@pytest.mark.parametrize("size", [2, 4])
def test_workers_with_the_same_data_equal_one_worker(train, batches, size: int) -> None:
    many, one = (train(OuterMomentum(tau=3), count, data=lambda rank: batches(0)) for count in (size, 1))
    assert torch.equal(many[0].weights, one[0].weights)
