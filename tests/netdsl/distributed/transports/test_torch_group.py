"""Exchanges over gloo, between threads with their own connections, and with a process that is killed."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import torch
from torch import distributed as dist

from netdsl.distributed.interruption import Interruption
from netdsl.distributed.transports.torch_group import TorchGroup
from netdsl.errors import DistributedError, PeerLostError
from tests.netdsl.distributed.workers import over_gloo, own
from tests.patience import PATIENCE


def test_collective_exchanges_are_exact():
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

    wanted = own(0) * (1 / 3) + own(1) * (2 / 3)  # in the order of ranks, as everywhere
    for rank, (mean, reduced, sent, whole) in enumerate(over_gloo(2, task)):
        assert torch.equal(mean, wanted)
        assert torch.equal(reduced, [own(0), wanted][rank])
        assert torch.equal(sent, own(1))
        assert whole.tolist() == [4, -7]  # 3.5, rounded to the nearest even number as in shared memory


def test_invalid_settings_are_refused():
    def task(group):
        with pytest.raises(DistributedError, match="the weights of all workers add up to 0"):
            group.mean(torch.zeros(3), 0.0).wait()
        with pytest.raises(DistributedError, match="there is no lane 4"):
            group.mean(torch.zeros(3), lane=4)

    over_gloo(2, task)


def test_a_worker_that_is_late_is_lost():
    given_up = threading.Event()

    def task(group):
        if group.rank == 0:
            given_up.wait()
            return
        with pytest.raises(PeerLostError, match="mean of 3 values, lane 0: "):
            group.mean(torch.zeros(3)).wait()
        given_up.set()

    over_gloo(2, task, timeout=1.0)


def test_a_killed_worker_is_lost_at_once():
    program = (
        "import os, signal, sys, torch; from netdsl.distributed.transports.torch_group import TorchGroup\n"
        "store = torch.distributed.TCPStore('127.0.0.1', int(sys.argv[1]), 2, False)\n"
        "group = TorchGroup(store, 1, 2)\n"
        "group.mean(torch.ones(5)).wait(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    store = dist.TCPStore("127.0.0.1", 0, 2, is_master=True, wait_for_workers=False)
    with subprocess.Popen([sys.executable, "-c", program, str(store.port)]) as process:
        with closing(TorchGroup(store, 0, 2, timeout=PATIENCE)) as group:
            group.mean(torch.ones(5)).wait()
            with pytest.raises(PeerLostError, match="lane 0"):
                group.mean(torch.ones(5)).wait()
        assert process.wait() == -9


def test_an_interruption_ends_all_waiting():
    interruption, store = Interruption(), dist.HashStore()

    def task(rank):
        group = TorchGroup(store, rank, 2, interruption=interruption if rank == 0 else None)
        if rank == 0:
            threading.Timer(0.2, interruption.happen, ["worker 1 was lost"]).start()
            with pytest.raises(PeerLostError, match="worker 1 was lost"):
                group.mean(torch.zeros(5)).wait()
            with pytest.raises(PeerLostError, match="worker 1 was lost"):
                group.barrier()
            over.set()
        assert over.wait(30)

    over = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(task, range(2)))
