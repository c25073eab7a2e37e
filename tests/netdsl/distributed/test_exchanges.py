"""The exchanges that work the same over every transport, including the simulator's."""

from __future__ import annotations

import threading
import time
from itertools import product

import pytest
import torch

from netdsl.distributed.transports.relay.connection import NUMBERS
from netdsl.distributed.transports.relay.connection import PIECE as OF_A_RELAY
from netdsl.distributed.transports.shared_block import CELLS, SLOTS
from netdsl.distributed.transports.shared_block import PIECE as OF_MEMORY
from tests.netdsl.distributed.workers import around_a_relay, in_shared_memory, over_gloo, own, simulated

# uses every slot and wraps around, in several pieces, with a remainder
LONG = max(OF_MEMORY * (SLOTS + 1), OF_A_RELAY) // 4 + 17
LENGTHS = [0, 1, 63, 5_003, LONG]


@pytest.fixture(params=[in_shared_memory, around_a_relay, over_gloo, simulated], ids=lambda way: way.__name__)
def all_workers(request):
    """Run a task as every worker, and return the results."""
    return request.param


@pytest.mark.parametrize(("size", "length"), [*product([2, 3], LENGTHS)])
def test_means_are_accurate_and_the_same_for_all_workers(all_workers, size, length):
    def task(communicator):
        mean, reduced = own(communicator.rank, length), own(communicator.rank, length)
        communicator.mean(mean, communicator.rank + 1.0)
        communicator.reduce(reduced, communicator.rank + 1.0, root=1).wait()
        communicator.barrier()
        return mean, reduced

    total = sum(range(size + 1))
    wanted = sum(own(rank, length).double() * (rank + 1) / total for rank in range(size))
    found = all_workers(size, task)
    for rank, (mean, reduced) in enumerate(found):
        torch.testing.assert_close(mean.double(), wanted, rtol=1e-6, atol=1e-3)  # the values are around 1000
        assert torch.equal(mean, found[0][0])
        assert torch.equal(reduced, mean if rank == 1 else own(rank, length))


@pytest.mark.parametrize(
    ("kind", "length"), [*product([torch.bfloat16, torch.uint8], [0, 1, 5_003]), (torch.float32, LONG)]
)
def test_a_broadcast_sends_the_roots_values(all_workers, length, kind):
    def task(communicator):
        buffer = own(communicator.rank, length, kind)
        communicator.broadcast(buffer, root=1).wait()
        return buffer

    for buffer in all_workers(3, task):
        assert torch.equal(buffer, own(1, length, kind))


@pytest.mark.parametrize(("size", "length"), [*product([2, 3], [0, 5_003]), (2, LONG)])
def test_values_that_are_sent_around_come_back(all_workers, length, size):
    def task(communicator):
        rank = communicator.rank
        buffer = own(rank, length)
        for _ in range(size):
            ahead, behind = (rank + 1) % size, (rank - 1) % size
            got = torch.empty_like(buffer)
            sent = communicator.send(buffer, to=ahead, lane=rank)  # lanes, since no worker may wait for all others
            communicator.receive(got, source=behind, lane=behind).wait()
            sent.wait()
            buffer = got
        communicator.barrier()
        mean = buffer.clone()
        communicator.mean(mean, lane=1).wait()
        return buffer, mean

    found = all_workers(size, task)
    for rank, (buffer, mean) in enumerate(found):
        assert torch.equal(buffer, own(rank, length))
        assert torch.equal(mean, found[0][1])


def test_different_exchanges_follow_each_other_in_several_lanes(all_workers):
    def task(communicator):
        found, handles = [], []
        for number in range(40):
            lane = number % 4
            buffer = torch.full((1 + 997 * number,), float(communicator.rank + number))
            if number % 3:
                handles.append(communicator.mean(buffer, lane=lane))
            else:
                handles.append(communicator.broadcast(buffer, root=number % 2, lane=lane))
            found.append(buffer)
        for handle in handles:
            handle.wait()
        assert all(handle.done() for handle in handles)
        return [set(buffer.tolist()) for buffer in found]

    wanted = [{number + (0.5 if number % 3 else float(number % 2))} for number in range(40)]
    assert all_workers(2, task) == [wanted] * 2


@pytest.mark.parametrize("count", [0, 1, 3, 2 * CELLS + 5, NUMBERS + 5])
def test_gathering_returns_all_numbers_by_rank(all_workers, count):
    def task(communicator):
        communicator.barrier()
        return [communicator.gather([communicator.rank + 0.5 * turn] * count) for turn in range(3)]

    wanted = [[[rank + 0.5 * turn] * count for rank in range(3)] for turn in range(3)]
    assert all_workers(3, task) == [wanted] * 3


def test_the_variable_loses_no_exchange(all_workers):
    def task(communicator):
        rank = communicator.rank
        first = communicator.shared_variable(torch.full((1_009,), 2.0 + rank, dtype=torch.float64))
        second = communicator.shared_variable(torch.ones(3))
        buffer = torch.full((1_009,), 8.0 * rank, dtype=torch.float64)
        for turn in range(50):
            handle = first.exchange(buffer, 0.25 if turn % 2 else 0.5)
        handle.wait()
        communicator.barrier()
        first.read(found := torch.empty_like(buffer))
        if rank:
            second.write(torch.tensor([5.0, 6.0, 7.0]))
        communicator.barrier()
        second.read(pair := torch.empty(3))
        communicator.barrier()
        return buffer, found, pair.tolist()

    (first, variable, pair), (second, seen, other) = all_workers(2, task)
    assert torch.equal(variable, seen)
    assert pair == other == [5.0, 6.0, 7.0]
    # the last bits may differ
    torch.testing.assert_close(first + second + variable, torch.full_like(first, 10.0), rtol=0, atol=1e-12)


def test_a_workers_next_access_to_the_variable_follows_its_own_push(all_workers):
    def task(communicator):
        variable = communicator.shared_variable(torch.zeros(LONG))
        communicator.barrier()
        if communicator.rank:
            return None
        first, second, found = torch.ones(LONG), torch.ones(LONG), torch.empty(LONG)
        variable.exchange(first, 0.5)
        variable.exchange(second, 0.5)
        variable.read(found)
        read = found.unique().tolist()
        variable.exchange(first, 1.0)
        variable.write(torch.full((LONG,), 7.0))
        variable.read(found)
        return first.unique().tolist(), second.unique().tolist(), read, found.unique().tolist()

    assert all_workers(2, task)[0] == ([0.75], [0.75], [0.75], [7.0])


def test_an_exchange_moves_both_sides_and_the_first_worker_sets_the_variable(all_workers):
    def task(communicator):
        variable = communicator.shared_variable(torch.tensor([4.0, 0.0, -2.0]) + 9 * communicator.rank)
        buffer, found = torch.tensor([0.0, 8.0, -2.0]), torch.empty(3)
        if communicator.rank:
            variable.exchange(buffer, 0.25).wait()
        communicator.barrier()
        variable.read(found)
        communicator.barrier()
        return buffer.tolist(), found.tolist()

    assert all_workers(2, task) == [([0.0, 8.0, -2.0], [3.0, 2.0, -2.0]), ([1.0, 6.0, -2.0], [3.0, 2.0, -2.0])]


@pytest.mark.parametrize("exchange", ["mean", "reduce", "broadcast", "gather", "barrier"])
def test_waiting_for_a_late_worker_counts_once_and_not_as_moving(all_workers, exchange):
    """The late worker comes when the others have begun to wait, which takes far longer than the exchange."""
    if all_workers is simulated:
        pytest.skip("a simulator has a clock of its own")
    late, about_to_wait = 0.6, [threading.Event() for _ in range(3)]

    def task(communicator):
        traffic = communicator.traffic
        communicator.barrier()
        start, before = time.monotonic(), (traffic.waited, traffic.moved)
        about_to_wait[communicator.rank].set()
        if communicator.rank == 1:
            for event in about_to_wait:
                event.wait()
            time.sleep(late)
        buffers = {"gather": ([1.0],), "barrier": ()}.get(exchange, (own(communicator.rank, 5_003),))
        handle = getattr(communicator, exchange)(*buffers)
        if exchange not in ("gather", "barrier"):
            handle.wait()
        communicator.barrier()
        return traffic.waited - before[0], traffic.moved - before[1], time.monotonic() - start

    for rank, (waited, moved, seconds) in enumerate(all_workers(3, task)):
        assert waited >= 0 and moved >= 0
        assert waited + moved <= seconds
        assert rank == 1 or moved <= seconds - late / 2
