from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest
import torch
from torch import distributed as dist

from netdsl.distributed.control import heartbeat
from netdsl.distributed.control.heartbeat import Health, Pulse, SupervisorLease, WatchedCommunicator
from netdsl.distributed.control.protocol import Ending, Sign
from netdsl.distributed.transports.torch_group import TorchGroup
from tests.patience import PATIENCE


def idle():
    """Simulate the processor time of a process that computes nothing, unlike that of a test."""
    return 0.0


def test_a_sign_is_counted_once():
    pulse = Pulse(idle)
    assert pulse.take() is None
    pulse.beat()
    assert pulse.take() is Sign.WORKING
    assert pulse.take() is None


def test_a_long_iteration_does_not_count_as_a_death():
    """A worker gives no sign only if it computes nothing between two beats."""
    used = 1.0
    pulse = Pulse(lambda: used)
    assert pulse.take() is None
    used += 0.05
    assert pulse.take() is Sign.WORKING
    assert pulse.take() is None
    used += 0.001  # the thread that gives the signs uses this itself
    assert pulse.take() is None
    with pulse.waiting():
        used += 0.05
        assert pulse.take() is Sign.WAITING  # a worker that spins still counts as waiting


def test_a_waiting_worker_counts_as_alive_until_the_other_arrives():
    store, seen = dist.HashStore(), []

    def task(rank, work):
        pulse = Pulse(idle)
        with closing(TorchGroup(store, rank, 2)) as group:
            work(WatchedCommunicator(group, pulse), pulse)

    def waits(group, pulse):
        thread = threading.Thread(target=look, args=(pulse,))
        thread.start()
        group.barrier()
        thread.join()
        seen.append(pulse.take())

    looked = threading.Event()

    def look(pulse):
        until = time.monotonic() + PATIENCE
        while (sign := pulse.take()) is None and time.monotonic() < until:
            time.sleep(0.001)
        seen.append(sign)
        looked.set()

    def comes(group, pulse):
        looked.wait()
        group.barrier()
        assert pulse.take() is Sign.WORKING

    threads = [threading.Thread(target=task, args=each) for each in enumerate((waits, comes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [Sign.WAITING, Sign.WORKING]


def test_every_exchange_goes_through_the_watched_communicator():
    results = {}

    def task(rank):
        pulse = Pulse()
        with closing(TorchGroup(store, rank, 2)) as plain:
            group = WatchedCommunicator(plain, pulse)
            mean, reduced, sent, got = (torch.full((3,), value + rank) for value in (1.0, 3.0, 5.0, 7.0))
            group.mean(mean, 1.0 + 2 * rank).wait()
            group.reduce(reduced, root=1, lane=1).wait()
            group.broadcast(sent, root=1, lane=2).wait()
            (group.send(got, to=1, lane=3) if rank == 0 else group.receive(got, source=0, lane=3)).wait()
            variable = group.shared_variable(torch.full((2,), 9.0 + rank))
            if rank:
                variable.exchange(torch.full((2,), 5.0), 0.5).wait()
            group.barrier()
            variable.read(found := torch.empty(2))
            group.barrier()
            assert group.gather([rank, 4.0]) == [[0.0, 4.0], [1.0, 4.0]]
            assert (group.rank, group.size, group.traffic) == (rank, 2, plain.traffic)
            results[rank] = [each[0].item() for each in (mean, reduced, sent, got, found)]

    store = dist.HashStore()
    threads = [threading.Thread(target=task, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: [1.75, 3.0, 6.0, 7.0, 7.0], 1: [1.75, 3.5, 6.0, 7.0, 7.0]}


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that the test controls."""
    now = [100.0]
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: now[0])
    return now


def test_a_lease_counts_from_the_last_request_that_was_answered(clock):
    lease = SupervisorLease(10.0)
    for _ in range(8):  # a request each second, of which the first four are answered late
        lease.note_request()
        clock[0] += 1.0
        assert not lease.has_ended()
    for _ in range(4):
        lease.note_answer()
    for _ in range(5):
        clock[0] += 1.0
        assert not lease.has_ended()
    clock[0] += 1.0
    assert lease.has_ended()  # 11 seconds after the fourth request


def test_a_worker_that_was_stopped_asks_once_more(clock):
    lease = SupervisorLease(10.0)
    lease.note_request()
    clock[0] += 3600.0
    assert not lease.has_ended()
    lease.note_answer()
    for _ in range(10):
        clock[0] += 1.0
        assert not lease.has_ended()
    clock[0] += 1.0
    assert lease.has_ended()


def two(clock, deadline=10.0):
    found = Health(2, deadline)
    found._since, found._looked = clock[0], clock[0]
    for rank in (0, 1):
        found.welcome(rank, f"host{rank}")
    found.note_join((0, 1))
    return found


def problem_of(found):
    return found.hung() or found.standstill()


def wait(found, clock, seconds, signs=()):
    """Look as often as a supervisor does. Some workers give a sign each time."""
    for _ in range(round(seconds)):
        clock[0] += 1.0
        for rank, sign in signs:
            found.note_sign(rank, sign)
        if problem_of(found):
            break
    return problem_of(found)


def test_a_worker_without_a_sign_is_named(clock):
    found = two(clock)
    assert wait(found, clock, 10) == ""
    found = two(clock)
    assert wait(found, clock, 12, [(0, Sign.WORKING)]) == [1]


def test_waiting_is_a_sign_of_life_unless_all_wait(clock):
    found = two(clock)
    assert wait(found, clock, 100, [(0, Sign.WORKING), (1, Sign.WAITING)]) == ""
    assert wait(found, clock, 49, [(0, Sign.WAITING), (1, Sign.WAITING)]) == ""
    assert (
        wait(found, clock, 2, [(0, Sign.WAITING), (1, Sign.WAITING)])
        == "all workers have been waiting for each other for 50 s"
    )


def test_a_supervisor_that_slept_blames_no_worker(clock):
    found = two(clock)
    clock[0] += 3600
    assert problem_of(found) == ""
    assert wait(found, clock, 10) == ""


def test_workers_that_do_not_begin_are_named(clock):
    found = Health(3, 500.0)
    found._since = found._looked = clock[0]
    found.welcome(1, "host1")
    found.hosts = {1: "host1", 2: "host2"}  # as mpiexec's ranks tell them, which are connected in another way
    assert wait(found, clock, 310, [(1, Sign.WAITING)]) == (
        "only 1 of 3 workers started within 300 s; look for the reason in the output of worker 0, worker 2 on host2"
    )


def test_the_worker_with_the_most_direct_failure_is_blamed(clock):
    found = two(clock)
    found.note_end(0, Ending.LOST, "lost another: gather")
    assert found.blame() == "worker 0 on host0 lost another: gather"
    found.note_end(1, Ending.GONE, "ended without a word")
    assert found.blame() == "worker 1 on host1 ended without a word"
    found.note_end(0, Ending.GONE, "what was said first counts")
    assert found.blame() == "worker 1 on host1 ended without a word"


def test_finished_workers_are_no_longer_watched(clock):
    found = two(clock)
    found.note_end(1, Ending.DONE)
    assert (found.done(0), found.done(1)) == (False, True)
    assert wait(found, clock, 8, [(0, Sign.WORKING)]) == ""
    found.note_end(0, Ending.DONE)
    found.note_end(0, Ending.GONE, "its connection")
    assert found.done(0) and found.blame() == "" and wait(found, clock, 200) == ""


def test_a_worker_that_ended_before_it_connected_has_no_empty_host():
    health = Health(3, 5.0)
    health.welcome(1, "node1")
    health.note_end(0, Ending.GONE, "ended by SIGKILL")
    assert health.blame() == "worker 0 ended by SIGKILL"
    health.welcome(2, "node2")
    health.note_end(2, Ending.GONE, "was lost")
    assert health.blame() == "worker 0 ended by SIGKILL; worker 2 on node2 was lost"
