"""Which workers the relay accepts, and its messages to the others when one is lost."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from contextlib import closing

import pytest
import torch

from netdsl.distributed.transports.lanes import LANES
from netdsl.distributed.transports.relay.connection import (
    CONTROL,
    LENGTH,
    NUMBERS,
    PIECE,
    REAL,
    SUMMED,
    Connection,
    RelayOperation,
    RelayRequest,
)
from netdsl.errors import DistributedError, PeerLostError
from tests.netdsl.distributed.workers import RelayHarness

PROGRAM = """
import socket, sys, time
import torch
from netdsl.distributed.transports.relay.communicator import RelayCommunicator
def connect(lane):
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connection.sendall(bytes([lane]))
    return connection
worker = RelayCommunicator(connect, 1, 2)
worker.mean(torch.ones(0)).wait()
worker.barrier()
print(flush=True)
time.sleep(600)
"""
NONSENSE = [
    b"\xff" * LENGTH,
    b"GET / HTTP/1.1\r\nHost: driver\r\n\r\n"[:LENGTH],
    RelayRequest(RelayOperation.MEAN, REAL, 1 << 40).packed()[:-16] + b"\xff" * 16,
    RelayRequest(RelayOperation.READ, REAL, 3).packed(),
    RelayRequest(RelayOperation.BROADCAST, count=3, other=-1).packed(),
    RelayRequest(RelayOperation.MEAN, count=3).packed(),
]


@pytest.fixture
def harness():
    """Return a relay for two workers, with long timeouts."""
    with closing(RelayHarness(2)) as found:
        yield found


def connections_of(harness, rank):
    """Return all connections of a worker, with the test at the other end."""
    connections = {
        lane: Connection(harness.connect(rank)(lane), "the driver", 30.0) for lane in (CONTROL, *range(LANES))
    }
    for connection in connections.values():
        connection.await_assurance()
    return connections


def test_a_killed_worker_is_lost_at_once_in_all_lanes(harness):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-c", PROGRAM, str(listener.getsockname()[1])]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            for _ in range(LANES + 1):
                connection = listener.accept()[0]
                harness.relay.adopt(connection, 1, connection.recv(1)[0])
            with closing(harness.worker(0)) as worker:
                worker.mean(torch.ones(0)).wait()
                handles = [worker.mean(torch.ones(5)), worker.broadcast(torch.ones(5), root=1, lane=2)]
                worker.barrier()
                process.stdout.readline()
                process.send_signal(signal.SIGKILL)
                begun = time.monotonic()
                for handle in handles:
                    with pytest.raises(PeerLostError, match=r"lane [02]: worker 1 is gone"):
                        handle.wait()
                for ask in (worker.barrier, worker.mean(torch.ones(3), lane=1).wait):
                    with pytest.raises(PeerLostError, match="worker 1 is gone"):
                        ask()
                assert time.monotonic() - begun < 15  # less than half of the timeout
        assert process.returncode == -9


def test_a_worker_that_ends_during_an_exchange_is_lost(harness):
    other = connections_of(harness, 1)
    with closing(harness.worker(0)) as worker:
        handle = worker.broadcast(torch.ones(PIECE), root=1, lane=3)
        other[3].send(RelayRequest(RelayOperation.BROADCAST, count=4 * PIECE, other=1).packed())
        other[3].send(bytes(PIECE + 1))
        other[3].close()
        with pytest.raises(PeerLostError, match=f"broadcast of {4 * PIECE} bytes from 1, lane 3: worker 1 is gone"):
            handle.wait()
        with pytest.raises(PeerLostError, match="worker 1 is gone"):
            worker.send(torch.ones(1), to=1, lane=3).wait()
    for connection in other.values():
        connection.close()


def test_a_sender_notices_that_the_receiver_is_lost(harness):
    other = connections_of(harness, 1)
    with closing(harness.worker(0)) as worker:
        handle = worker.send(torch.ones(8 * PIECE), to=1)
        other[0].send(RelayRequest(RelayOperation.RECEIVE, count=32 * PIECE).packed())
        for connection in other.values():
            connection.close()
        with pytest.raises(PeerLostError, match="worker 1 is gone"):
            handle.wait()


def test_a_worker_that_waits_for_a_third_notices_the_loss_of_the_second():
    with closing(RelayHarness(3)) as harness:
        second, third = connections_of(harness, 1), connections_of(harness, 2)
        with closing(harness.worker(0)) as worker:
            handle = worker.mean(torch.ones(4))
            second[0].send(RelayRequest(RelayOperation.MEAN, SUMMED[0], 4).packed() + bytes(16))
            second[CONTROL].close()
            for each in (handle, worker.mean(torch.ones(4), lane=1)):
                with pytest.raises(PeerLostError, match=r"mean of 4 float32, lane [01]: worker 1 is gone"):
                    each.wait()
        for connection in (*second.values(), *third.values()):
            connection.close()


def test_a_worker_that_hangs_during_an_exchange_is_lost():
    with closing(RelayHarness(2, timeout=1.0)) as harness, closing(harness.worker(0)) as worker:
        other = connections_of(harness, 1)
        handle = worker.broadcast(torch.ones(PIECE), root=1)
        other[0].send(RelayRequest(RelayOperation.BROADCAST, count=4 * PIECE, other=1).packed() + bytes(PIECE + 1))
        with pytest.raises(PeerLostError, match=r"(worker 1|the driver) gave no sign of life for 1 s"):
            handle.wait()
        for connection in other.values():
            connection.close()


def test_the_variable_is_lost_with_any_worker(harness):
    variables, other = [], harness.worker(1)
    with closing(harness.worker(0)) as worker:
        thread = threading.Thread(target=lambda: variables.append(other.shared_variable(torch.ones(3))))
        thread.start()
        variable = worker.shared_variable(torch.ones(3))
        thread.join()
        other.close()
        with pytest.raises(PeerLostError, match="worker 1 is gone"):
            while True:  # until the loss is noticed
                variable.exchange(torch.ones(3), 0.5)


def test_all_workers_notice_the_drivers_end():
    harness = RelayHarness(2)
    with closing(harness.worker(0)) as worker, closing(harness.worker(1)):
        handle = worker.mean(torch.ones(2 * PIECE))
        harness.relay.close()
        with pytest.raises(PeerLostError, match="lane 0: the driver is gone"):
            handle.wait()
        with pytest.raises(PeerLostError, match="the driver is gone"):
            worker.barrier()
    with pytest.raises(PeerLostError, match="the driver is gone"):
        harness.worker(1)
    harness.close()


@pytest.mark.parametrize(("rank", "lane"), [(0, 0), (0, CONTROL), (2, 0), (-1, 0), (1, LANES + 1), (1, -1)])
def test_a_worker_without_a_place_is_refused(harness, rank, lane):
    with closing(harness.worker(0)):
        own, other = harness.connection()
        harness.relay.adopt(other, rank, lane)
        connection = Connection(own, "the driver", 30.0)
        with pytest.raises(PeerLostError, match="the driver has no place for worker"):
            connection.await_assurance()
        connection.close()


@pytest.mark.parametrize("said", NONSENSE)
@pytest.mark.parametrize("lane", [0, CONTROL])
def test_invalid_requests_are_answered_with_a_message(said, lane):
    with closing(RelayHarness(1)) as harness:
        own = connections_of(harness, 0)
        own[lane].send(said)
        with pytest.raises(DistributedError, match=r"worker 0 (sent an? |requests)"):
            own[lane].await_assurance()
        for connection in own.values():
            connection.close()


def test_an_invalid_request_is_reported_to_all_workers(harness):
    other = connections_of(harness, 1)
    with closing(harness.worker(0)) as worker:
        for lane in (0, CONTROL):
            other[lane].send(NONSENSE[0])
        for ask in (worker.barrier, worker.mean(torch.ones(3)).wait):
            with pytest.raises(DistributedError, match="worker 1 sent an unknown request"):
                ask()
    for connection in other.values():
        connection.close()


def test_too_many_numbers_at_once_are_refused(harness):
    other = connections_of(harness, 1)
    other[CONTROL].send(RelayRequest(RelayOperation.GATHER, REAL, NUMBERS + 1).packed())
    with pytest.raises(DistributedError, match=f"worker 1 sent a request for {NUMBERS + 1} values at once"):
        other[CONTROL].await_assurance()
    for connection in other.values():
        connection.close()


def test_the_driver_stores_only_a_few_pieces():
    tracemalloc.start()
    try:
        with (
            closing(RelayHarness(2)) as harness,
            closing(harness.worker(0)) as one,
            closing(harness.worker(1)) as other,
        ):
            handles = [each.mean(torch.ones(32 * PIECE // 4)) for each in (one, other)]  # torch's memory isn't counted
            for handle in handles:
                handle.wait()
            assert tracemalloc.get_traced_memory()[1] < 4 * LANES * PIECE
    finally:
        tracemalloc.stop()
