"""Strategies with overlapping exchanges finish over a relay."""

from __future__ import annotations

import pytest
import torch

from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.worker import Worker
from tests.netdsl.distributed.strategies.conftest import NORMED, batches_of, solver_of, train


def trained(all_workers, strategy, size):
    """Return the final weights of all workers."""
    solvers = [solver_of(batches_of(rank), 7 + rank, NORMED) for rank in range(size)]

    def task(communicator):
        worker = Worker(solvers[communicator.rank], communicator)
        strategy_run = parse(strategy).begin(worker)
        while worker.remaining:
            worker.begin_round()
            strategy_run.round()
            worker.end_round()
        strategy_run.finish()
        return worker.weights

    return all_workers(size, task)


@pytest.mark.parametrize("strategy", ["averaging:tau=3", "allreduce:tau=3", "outer:tau=3", "elastic-sync:tau=3"])
def test_the_bits_equal_those_of_simulated_workers(all_workers, strategy):
    simulated = train(parse(strategy), 3, net=NORMED)
    for weights in trained(all_workers, strategy, 3):
        assert torch.equal(weights, simulated[0].weights)


@pytest.mark.parametrize("strategy", ["mpca:shards=3,early=0,tau=5", "elastic:tau=3"])
def test_workers_that_do_not_wait_for_each_other_agree_at_the_end(all_workers, strategy):
    first, *others = trained(all_workers, strategy, 3)
    assert torch.isfinite(first).all()
    for weights in others:
        assert torch.equal(weights, first)
