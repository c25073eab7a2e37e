"""Exchanges through shared memory. The workers are threads, each with its own mapping, unless they are killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from itertools import product
from pathlib import Path

import pytest
import torch

from netdsl.distributed.interruption import Interruption
from netdsl.distributed.transports.shared_block import PIECE, SLOTS, create_memory, path_of_memory
from netdsl.errors import DistributedError, PeerLostError
from tests.netdsl.distributed.workers import in_shared_memory, own

LONG = PIECE // 4 * (SLOTS + 1) + 17  # uses every slot and wraps around, with a remainder
LENGTHS = [0, 1, 63, 5_003]
WEIGHTS = [[2.0], [1.0, 1.0], [1.0, 0.0, 5.0], [7.0, 7.0, 7.0], [1.0, 2.0, 3.0, 4.0]]
WORKER = Path(__file__).with_name("variable_worker.py")


@pytest.fixture
def all_workers():
    """Run a task as every worker, and return the results."""
    return in_shared_memory


@pytest.mark.parametrize(("weights", "length"), [*product(WEIGHTS, LENGTHS), (WEIGHTS[2], LONG)])
def test_means_are_added_in_the_order_of_ranks(all_workers, length, weights):
    size = len(weights)

    def task(communicator):
        buffer = own(communicator.rank, length)
        communicator.mean(buffer, weights[communicator.rank]).wait()
        return buffer

    scaled = [own(rank, length) * (weights[rank] / sum(weights)) for rank in range(size)]
    wanted = scaled[0]
    for each in scaled[1:]:
        wanted = wanted + each
    for buffer in all_workers(size, task):
        assert torch.equal(buffer, wanted)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_the_mean_of_equal_values_has_the_same_bits(all_workers, size, kind):
    def task(communicator):
        buffer = own(0, 5_003, kind)
        communicator.mean(buffer, 7.0).wait()
        return buffer

    for buffer in all_workers(size, task):
        assert torch.equal(buffer, own(0, 5_003, kind))


def test_the_mean_of_integers_is_rounded(all_workers):
    def task(communicator):
        buffer = torch.tensor([5, -7, 2**40 + 1, [1, 1, 3][communicator.rank]])
        communicator.mean(buffer).wait()
        return buffer.tolist()

    assert all_workers(3, task) == [[5, -7, 2**40 + 1, 2]] * 3


@pytest.mark.parametrize(("root", "length"), [*product([0, 2], LENGTHS), (1, LONG)])
def test_reducing_sends_the_mean_to_one_worker_and_leaves_the_others_unchanged(all_workers, length, root):
    def task(communicator):
        buffer, mean = own(communicator.rank, length), own(communicator.rank, length)
        communicator.reduce(buffer, communicator.rank + 1.0, root=root)
        communicator.mean(mean, communicator.rank + 1.0).wait()
        return buffer, mean

    for rank, (buffer, mean) in enumerate(all_workers(3, task)):
        assert torch.equal(buffer, mean if rank == root else own(rank, length))


def test_sent_bytes_are_counted(all_workers):
    def task(communicator):
        here = torch.zeros(1)
        if communicator.rank:
            communicator.receive(here, source=0, lane=1).wait()
            time.sleep(0.2)
        mean = communicator.mean(torch.ones(1000, dtype=torch.float64))
        if not communicator.rank:
            communicator.send(here, to=1, lane=1).wait()
        mean.wait()
        return communicator.traffic

    first, second = all_workers(2, task)
    assert first.waited > 0
    assert first.moved > 0
    message = 2 * 4
    # each half is sent to its owner, and its mean to the other worker
    assert first.bytes + second.bytes - message == 4 * 8000


@pytest.mark.parametrize(
    ("values", "weight", "message"),
    [(5, 1.0, "request different operations"), (4, 0.0, "the weights of all workers add up to 0")],
)
def test_mismatched_means_are_reported(all_workers, values, weight, message):
    def task(communicator):
        handle = communicator.mean(torch.zeros(values if communicator.rank else 4), weight)
        later = communicator.broadcast(torch.zeros(1))
        for each in (handle, later):  # the positions of the other workers in this lane are unknown
            with pytest.raises(DistributedError, match=message):
                each.wait()

    all_workers(2, task)


def test_mismatched_exchanges_are_reported(all_workers):
    def task(communicator):
        if communicator.rank == 0:
            communicator.broadcast(torch.zeros(4)).wait()
            return
        with pytest.raises(DistributedError, match="mean of 4 float32, lane 0: worker 0 and worker 1 request"):
            communicator.mean(torch.zeros(4)).wait()

    all_workers(2, task)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: c.mean(torch.zeros(2, dtype=torch.float16)), "torch.float16 values can't be averaged"),
        (lambda c: c.mean(torch.zeros(2, device="meta")), "a buffer on meta"),
        (lambda c: c.mean(torch.zeros(2), lane=4), "there is no lane 4; use one from 0 to 3"),
    ],
)
def test_unsupported_values_are_refused(all_workers, ask, message):
    def task(communicator):
        with pytest.raises(DistributedError, match=message):
            ask(communicator)

    all_workers(1, task)


def test_gathering_different_counts_is_an_error(all_workers):
    def task(communicator):
        with pytest.raises(DistributedError, match=r"different numbers of values: \[1, 2\]"):
            communicator.gather([1.0] * (communicator.rank + 1))

    all_workers(2, task)


def test_an_interruption_ends_all_waiting(all_workers):
    interruptions = [Interruption(), Interruption()]

    def task(communicator):
        if communicator.rank:
            return
        threading.Timer(0.2, interruptions[0].happen, ["worker 1 was lost"]).start()
        with pytest.raises(PeerLostError, match="worker 1 was lost"):
            communicator.mean(torch.zeros(5)).wait()
        with pytest.raises(
            PeerLostError, match=r"a gather of numbers: worker 1 was lost \(while waiting for worker 1\)"
        ):
            communicator.barrier()
        with pytest.raises(PeerLostError, match="worker 1 was lost"):
            communicator.broadcast(torch.zeros(3), root=1, lane=1).wait()

    all_workers(2, task, interruptions)


def test_workers_can_open_the_memory_although_it_has_no_name():
    descriptor = create_memory(2)
    assert os.fstat(descriptor).st_nlink == 0
    os.close(os.open(path_of_memory(descriptor), os.O_RDWR))
    os.close(descriptor)


def test_a_dead_worker_neither_loses_nor_blocks_an_exchange():
    descriptor = create_memory(2)
    processes = [
        subprocess.Popen(
            [sys.executable, str(WORKER), str(descriptor), str(rank)],
            pass_fds=[descriptor],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    printed = [process.communicate()[0].split() for process in processes]
    os.close(descriptor)
    assert [process.returncode for process in processes] == [0, -9]
    assert printed[0][2:] == ["True"]
    for least, most in (printed[0][:2], printed[1][:2]):
        # Each exchange moves a value from one worker to the other, so the sum stays 2 + 0 + 8. Each of 200 exchanges
        # may round the last bit.
        assert float(least) == pytest.approx(10.0, abs=1e-12)
        assert float(most) == pytest.approx(10.0, abs=1e-12)
