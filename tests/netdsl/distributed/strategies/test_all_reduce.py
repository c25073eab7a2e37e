"""Averaged gradients: several workers equal one, whatever the buckets."""

from __future__ import annotations

import pytest
import torch

from netdsl.distributed.machines import Link
from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.errors import DistributedError
from netdsl.net.compute_precision import ComputePrecision
from tests.netdsl.distributed.strategies.conftest import Batch, batches_of

# Means of three means of two items, instead of means of six, in float32 over eight steps.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}
RULES = [
    {"momentum": 0.9},
    {"type": "Nesterov", "momentum": 0.9, "weight_decay": 0.01},
    {"momentum": 0.9, "clip_gradients": 0.3},
    {"type": "RMSProp", "rms_decay": 0.9, "base_lr": 0.01},
]


def parts_of(batches, size: int):
    """Return a rank's part of each batch of six."""
    return lambda rank: [{name: value[rank::size] for name, value in batch.items()} for batch in batches(0)]


@pytest.mark.parametrize("settings", RULES)
def test_workers_that_divide_a_batch_equal_one_worker(train, alone, batches, settings) -> None:
    found = train(AllReduce(), 3, data=parts_of(batches, 3), **settings)
    expected = alone(batches(0), **settings).weights.buffer
    torch.testing.assert_close(found[0].weights, expected, **CLOSE)
    for each in found[1:]:
        assert torch.equal(each.weights, found[0].weights)
        assert torch.equal(each.solver.updater.histories[0], found[0].solver.updater.histories[0])


def test_the_size_of_buckets_changes_nothing(train) -> None:
    whole, small = train(AllReduce()), train(AllReduce(bucket=1e-6))
    assert torch.equal(whole[0].weights, small[0].weights)


def test_an_iteration_can_have_several_batches(train, alone, batches) -> None:
    found = train(AllReduce(), 2, data=parts_of(batches, 2), iter_size=2, max_iter=4)
    expected = alone(batches(0), iter_size=2, max_iter=4).weights.buffer
    torch.testing.assert_close(found[0].weights, expected, **CLOSE)


def test_sums_of_batch_norm_are_averaged_after_a_round(train, normed) -> None:
    one, two = train(AllReduce(tau=4), net=normed)
    assert one.weights[one.worker.learned :].abs().sum() > 0
    assert torch.equal(one.weights, two.weights)


def test_it_works_over_a_slow_network_with_a_slow_worker(train) -> None:
    quick = train(AllReduce(bucket=1e-6), 3)
    slow = train(AllReduce(bucket=1e-6), 3, link=Link(1e3, 0.1), pace=lambda rank, iteration: 1.0 + rank)
    assert torch.equal(quick[0].weights, slow[0].weights)
    assert slow[0].time > quick[0].time


def test_in_float16_all_workers_skip_a_step_that_overflows_in_one(train) -> None:
    def data(rank: int) -> list[Batch]:
        found = batches_of(rank)
        if rank == 1:
            found[5]["y"] = torch.full((6, 2), 60000.0)
        return found

    found = train(AllReduce(bucket=1e-6), 3, data=data, precision=ComputePrecision.FP16)
    numbers = [each.solver.net.loss_scale.numbers() for each in found]
    assert numbers[0] == numbers[1] == numbers[2]
    assert numbers[0][2] >= 1
    for each in found[1:]:
        assert torch.equal(each.weights, found[0].weights)
        assert each.weights.isfinite().all()


@pytest.mark.parametrize("settings", [{"tau": 0}, {"bucket": 0.0}])
def test_impossible_settings_are_refused(settings) -> None:
    with pytest.raises(DistributedError):
        AllReduce(**settings)
