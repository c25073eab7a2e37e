"""Exchanges through a relay. The workers are threads, each with its own connections."""

from __future__ import annotations

import threading
import time
from itertools import product

import numpy as np
import pytest
import torch

from netdsl.distributed.transports.relay.communicator import RelayCommunicator
from netdsl.distributed.transports.relay.connection import PIECE
from netdsl.errors import DistributedError, PeerLostError
from tests.netdsl.distributed.workers import in_shared_memory, own

LONG = PIECE // 4 + 17  # values; pieces of float32, with a remainder
NARROW = 2048  # bytes that connections buffer, or the system's minimum
WEIGHTS = [[2.0], [1.0, 1.0], [1.0, 0.0, 5.0], [1.0, 2.0, 3.0, 4.0]]


@pytest.mark.parametrize(
    ("weights", "length", "kind"),
    [
        *product(WEIGHTS, [0, 5_003], [torch.float32, torch.int64]),
        (WEIGHTS[1], LONG, torch.float32),
        (WEIGHTS[2], LONG, torch.float64),
    ],
)
def test_means_have_the_bits_of_shared_memory(all_workers, length, weights, kind):
    def task(communicator):
        rank = communicator.rank
        mean, reduced = own(rank, length, kind), own(10 + rank, length, kind)
        communicator.mean(mean, weights[rank])
        communicator.reduce(reduced, weights[rank], root=communicator.size - 1)
        communicator.mean(again := own(20 + rank, length, kind)).wait()
        return mean, reduced, again

    size = len(weights)
    expected = in_shared_memory(size, task)
    for rank, ours in enumerate(all_workers(size, task)):
        assert torch.equal(ours[0], expected[0][0])
        assert torch.equal(ours[1], expected[rank][1])
        assert torch.equal(ours[2], expected[0][2])


def test_connections_with_small_buffers_do_not_block(all_workers):
    """Replies find no buffer space while the rest is still being sent."""
    length = 3 * LONG

    def average(communicator):
        buffer = own(communicator.rank, length)
        communicator.mean(buffer, communicator.rank + 1.0).wait()
        return buffer

    def task(communicator):
        values = own(communicator.rank, length)
        communicator.shared_variable(values).exchange(values, 0.5).wait()
        communicator.broadcast(values, root=1).wait()
        return average(communicator), values

    expected = in_shared_memory(2, average)
    (first, one), (second, other) = all_workers(2, task, room=NARROW)
    assert torch.equal(first, expected[0])
    assert torch.equal(second, expected[1])
    assert torch.equal(one, other)


def test_two_workers_can_exchange_without_the_third(all_workers):
    exchanged = threading.Event()

    def task(communicator):
        buffer = torch.full((7,), float(communicator.rank))
        if communicator.rank == 0:
            assert exchanged.wait(20)
        elif communicator.rank == 1:
            communicator.send(buffer, to=2).wait()
        else:
            communicator.receive(buffer, source=1).wait()
            exchanged.set()
        communicator.mean(buffer).wait()
        return buffer[0].item()

    assert all_workers(3, task) == [pytest.approx(2 / 3, rel=1e-7)] * 3


def test_a_waiting_lane_does_not_block_the_others(all_workers):
    done = threading.Event()

    def task(communicator):
        one, other = torch.ones(3), torch.full((5,), float(communicator.rank))
        if communicator.rank:
            first = communicator.mean(one, lane=2)
            communicator.mean(other, lane=1).wait()
            assert not first.done()
            done.set()
            first.wait()
        else:
            communicator.mean(other, lane=1).wait()
            assert done.wait(20)
            communicator.mean(one, lane=2).wait()
        return other.tolist()

    assert all_workers(2, task) == [[0.5] * 5] * 2


def test_a_variable_is_never_read_during_a_change(all_workers):
    def task(communicator):
        variable = communicator.shared_variable(torch.zeros(2 * LONG))
        buffer, seen = torch.empty(2 * LONG), set()
        for turn in range(1, 20):
            if communicator.rank:
                variable.write(buffer.fill_(turn))
            else:
                variable.read(buffer)
                seen.add(buffer.min().item() == buffer.max().item())
        return seen

    assert all_workers(2, task)[0] == {True}


def test_a_buffer_of_another_size_is_refused(all_workers):
    def task(communicator):
        variable = communicator.shared_variable(torch.ones(3))
        communicator.barrier()
        with pytest.raises(DistributedError, match="worker 0 requests a read of the variable, which isn't possible"):
            variable.read(torch.ones(4))

    with pytest.raises(DistributedError, match="which isn't possible"):  # in the barrier at the end
        all_workers(1, task)


def test_sent_bytes_are_counted(all_workers):
    def task(communicator):
        if communicator.rank:
            time.sleep(0.2)
        communicator.mean(torch.ones(1000, dtype=torch.float64)).wait()
        bytes_of_mean = communicator.traffic.bytes
        communicator.reduce(torch.ones(3)).wait()
        communicator.gather([1.0])
        return bytes_of_mean, communicator.traffic

    (mean, first), (_, second) = all_workers(2, task)
    assert first.waited >= 0.15 > second.waited
    assert first.moved > 0
    assert mean == 2 * 8000  # sent and received
    assert first.bytes == mean + 2 * 12 + 3 * 8  # two rows are returned for one number


@pytest.mark.parametrize(
    ("values", "weight", "message"),
    [
        (5, 1.0, "lane 0: worker 0 requests a mean of 4 float32, worker 1 requests a mean of 5 float32"),
        (4, 0.0, "mean of 4 float32, lane 0: the weights of all workers add up to 0"),
        (4, float("nan"), "mean of 4 float32, lane 0: the weights of all workers add up to nan"),
    ],
)
def test_mismatched_means_are_reported(all_workers, values, weight, message):
    def task(communicator):
        handle = communicator.mean(torch.zeros(values if communicator.rank else 4), weight)
        later = communicator.broadcast(torch.zeros(1))
        for each in (handle, later):  # the positions of the other workers in this lane are unknown
            with pytest.raises(DistributedError, match=message):
                each.wait()
        communicator.mean(torch.zeros(3), lane=1).wait()  # other lanes still work

    all_workers(2, task)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (lambda c: c.broadcast(torch.zeros(4)), lambda c: c.mean(torch.zeros(4)), "worker 1 requests a mean of 4"),
        (
            lambda c: c.broadcast(torch.zeros(LONG)),
            lambda c: c.broadcast(torch.zeros(LONG), root=1),
            "bytes from 1, but",
        ),
        (lambda c: c.mean(torch.zeros(2)), lambda c: c.mean(torch.zeros(2).double()), "mean of 2 float64"),
        (lambda c: c.send(torch.zeros(2), to=1), lambda c: c.receive(torch.zeros(3), source=0), "12 bytes from 0"),
        (lambda c: c.send(torch.zeros(2), to=1), lambda c: c.send(torch.zeros(2), to=0), "send of 8 bytes to 0"),
        (lambda c: c.send(torch.zeros(2), to=1), lambda c: c.mean(torch.zeros(2)), "0 requests a send of 8 bytes to 1"),
        (lambda c: c.send(torch.zeros(2), to=3), lambda c: c.mean(torch.zeros(2)), "to 3, which isn't possible"),
    ],
)
def test_mismatched_exchanges_are_reported(all_workers, one, other, message):
    def task(communicator):
        with pytest.raises(DistributedError, match=message):
            (other if communicator.rank else one)(communicator).wait()

    all_workers(2, task)


def test_gathering_different_counts_is_an_error(all_workers):
    def task(communicator):
        for _ in range(2):
            with pytest.raises(DistributedError, match="worker 1 requests a gather of 2 numbers, but all workers"):
                communicator.gather([1.0] * (communicator.rank + 1))

    with pytest.raises(DistributedError, match="gather of 2 numbers"):  # in the barrier at the end
        all_workers(2, task)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: c.mean(torch.zeros(2, dtype=torch.float16)), "torch.float16 values can't be added up; use float32"),
        (lambda c: c.mean(torch.zeros(2, device="meta")), "a buffer on meta can't be exchanged; move it"),
        (lambda c: c.mean(torch.zeros(2), lane=4), "there is no lane 4; use one from 0 to 3"),
        (
            lambda c: c.shared_variable(torch.zeros(2, dtype=torch.int64)),
            "a shared variable can't have torch.int64 values",
        ),
    ],
)
def test_unsupported_values_are_refused(all_workers, ask, message):
    def task(communicator):
        with pytest.raises(DistributedError, match=message):
            ask(communicator)

    all_workers(1, task)


def test_a_worker_that_is_late_is_lost(all_workers):
    given_up = threading.Event()

    def task(communicator):
        if communicator.rank:
            assert given_up.wait(20)
            return
        with pytest.raises(PeerLostError, match="mean of 3 float32, lane 0: the driver gave no sign of life for"):
            communicator.mean(torch.zeros(3)).wait()
        given_up.set()

    all_workers(2, task, timeout=1.0)


def test_a_missing_driver_is_an_error():
    def connect(lane):
        raise ConnectionRefusedError("nobody listens")

    with pytest.raises(PeerLostError, match="the driver can't be reached: nobody listens"):
        RelayCommunicator(connect, 0, 2)


def test_diverged_models_are_averaged_like_others(all_workers):
    def task(communicator):
        buffer = torch.tensor([1.0, np.inf * (-1) ** communicator.rank])
        communicator.mean(buffer).wait()
        return buffer

    for buffer in all_workers(2, task):
        assert buffer[0] == 1
        assert buffer[1].isnan()
