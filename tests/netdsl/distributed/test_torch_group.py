"""Exchanges over gloo, between threads that each have connections of their own, and with a process that is killed."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import torch
from torch import distributed as dist

from netdsl.distributed.torch_group import TorchGroup, store_at
from netdsl.errors import DistributedError, PeerLostError


def together(size, task, timeout=30.0):
    """Do something as every worker, and give what each returns."""
    store = dist.HashStore()

    def one(rank):
        with closing(TorchGroup(store, rank, size, timeout=timeout)) as group:
            return task(group)

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))


def own(rank, kind=torch.float32):
    """What a worker has."""
    values = torch.randn(5_003, generator=torch.Generator().manual_seed(rank), dtype=torch.float64)
    return (values * 1000).to(kind)


def test_collective_exchanges():
    def task(group):
        rank = group.rank
        mean, reduced, sent, whole = own(rank), own(rank), own(rank), torch.tensor([[3, -7], [4, -7]][rank])
        handles = [group.mean(mean, rank + 1.0), group.reduce(reduced, rank + 1.0, root=1, lane=1)]
        handles += [group.broadcast(sent, root=1, lane=2), group.mean(whole, 3.0, lane=3), group.mean(whole, 1.0)]
        for handle in handles:
            handle.wait()
        assert all(handle.done() for handle in handles)
        assert group.traffic.bytes > 3 * mean.nbytes
        assert group.traffic.moved > 0
        return mean, reduced, sent, whole

    wanted = (own(0) + own(1) * 2) * (1 / 3)
    for rank, (mean, reduced, sent, whole) in enumerate(together(2, task)):
        assert torch.equal(mean, wanted)
        assert torch.equal(reduced, [own(0), wanted][rank])
        assert torch.equal(sent, own(1))
        assert whole.tolist() == [4, -7]  # 3.5, to the nearest even number as in shared memory


def test_send_and_gather():
    def task(group):
        rank, got = group.rank, torch.empty(5_003)
        sent = group.send(own(rank), to=1 - rank, lane=rank)
        group.receive(got, source=1 - rank, lane=1 - rank).wait()
        sent.wait()
        group.barrier()
        return got, group.gather([rank, 0.5]), group.gather([])

    for rank, (got, gathered, nothing) in enumerate(together(2, task)):
        assert torch.equal(got, own(1 - rank))
        assert gathered == [[0.0, 0.5], [1.0, 0.5]]
        assert nothing == [[], []]


def test_the_centre_loses_no_exchange():
    def task(group):
        first = group.centre(torch.full((1_009,), 2.0 + group.rank, dtype=torch.float64))
        second = group.centre(torch.ones(3))
        buffer = torch.full((1_009,), 8.0 * group.rank, dtype=torch.float64)
        for turn in range(50):
            first.exchange(buffer, 0.25 if turn % 2 else 0.5)
        group.barrier()
        first.read(found := torch.empty_like(buffer))
        if group.rank:
            second.write(torch.tensor([5.0, 6.0, 7.0]))
        group.barrier()
        second.read(pair := torch.empty(3))
        group.barrier()
        return buffer, found, pair.tolist()

    (first, centre, pair), (second, seen, other) = together(2, task)
    assert torch.equal(centre, seen)
    assert pair == other == [5.0, 6.0, 7.0]
    torch.testing.assert_close(first + second + centre, torch.full_like(first, 10.0), rtol=0, atol=1e-12)  # last bits


def test_what_makes_no_sense_is_refused():
    def task(group):
        with pytest.raises(DistributedError, match="all weights together are 0"):
            group.mean(torch.zeros(3), 0.0).wait()
        with pytest.raises(DistributedError, match="there is no lane 4"):
            group.mean(torch.zeros(3), lane=4)

    together(2, task)


def test_whoever_does_not_come_in_time_is_lost():
    given_up = threading.Event()

    def task(group):
        if group.rank == 0:
            given_up.wait()
            return
        with pytest.raises(PeerLostError, match="mean of 3 values, lane 0: "):
            group.mean(torch.zeros(3)).wait()
        given_up.set()

    together(2, task, timeout=1.0)


def test_whoever_is_killed_is_lost_at_once():
    program = (
        "import os, signal, sys, torch; from netdsl.distributed.torch_group import TorchGroup, store_at\n"
        "group = TorchGroup(store_at('127.0.0.1', int(sys.argv[1]), 1, 2), 1, 2)\n"
        "group.mean(torch.ones(5)).wait(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    store = dist.TCPStore("127.0.0.1", 0, 2, is_master=True, wait_for_workers=False)
    with subprocess.Popen([sys.executable, "-c", program, str(store.port)]) as process:
        with closing(TorchGroup(store, 0, 2, timeout=60.0)) as group:
            group.mean(torch.ones(5)).wait()
            with pytest.raises(PeerLostError, match="lane 0"):
                group.mean(torch.ones(5)).wait()
        assert process.wait() == -9


def test_a_store_that_is_not_there_is_an_error():
    free = dist.TCPStore("127.0.0.1", 0, 1, is_master=True, wait_for_workers=False)
    port = free.port
    del free
    with pytest.raises(PeerLostError, match="meeting the others"):
        store_at("127.0.0.1", port, 1, 2, timeout=0.5)
