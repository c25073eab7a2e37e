"""Who is taken in, and what others are told when somebody is gone."""

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

from netdsl.distributed.transports.relay.connection import CONTROL, LANES, PIECE, Connection
from netdsl.distributed.transports.relay.request import LENGTH, NUMBERS, REAL, SUMMED, RelayOperation, RelayRequest
from netdsl.errors import DistributedError, PeerLostError
from tests.netdsl.distributed.workers import Midst

PROGRAM = """
import socket, sys, time
import numpy as np
from netdsl.distributed.transports.relay.worker_link import Line
from netdsl.distributed.transports.relay.request import REAL, SUMMED, Request, Wish
from netdsl.distributed.transports.relay.connection import CONTROL, LANES
def line(lane):
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connection.sendall(bytes([lane]))
    return Line(connection, lane, 60.0)
lines = [line(lane) for lane in range(LANES + 1)]
nothing = np.empty(0, np.uint8)
for each in lines:
    each.be_welcome()
lines[0].exchange(Request(Wish.MEAN, SUMMED[0], 0), nothing, nothing, "mean")
lines[CONTROL].exchange(Request(Wish.GATHER, REAL, 0), nothing, nothing, "gather")
print(flush=True)
time.sleep(600)
"""


@pytest.fixture
def midst():
    """Of two workers, who would wait for long."""
    with closing(Midst(2)) as found:
        yield found


def strangers(midst, rank):
    """All connections of a worker, whose ends a test holds."""
    wires = {lane: Connection(midst.connect(rank)(lane), "the driver", 30.0) for lane in (CONTROL, *range(LANES))}
    for wire in wires.values():
        wire.be_assured()
    return wires


def test_whoever_is_killed_is_lost_at_once_in_all_lanes(midst):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-c", PROGRAM, str(listener.getsockname()[1])]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            for _ in range(LANES + 1):
                connection = listener.accept()[0]
                midst.star.adopt(connection, 1, connection.recv(1)[0])
            with closing(midst.worker(0)) as worker:
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
                assert time.monotonic() - begun < 15  # less than half of what they would wait
        assert process.returncode == -9


def test_whoever_ends_within_an_exchange_is_lost(midst):
    other = strangers(midst, 1)
    with closing(midst.worker(0)) as worker:
        handle = worker.broadcast(torch.ones(PIECE), root=1, lane=3)
        other[3].send(RelayRequest(RelayOperation.BROADCAST, count=4 * PIECE, other=1).packed())
        other[3].send(bytes(PIECE + 1))
        other[3].close()
        with pytest.raises(PeerLostError, match=f"broadcast of {4 * PIECE} bytes from 1, lane 3: worker 1 is gone"):
            handle.wait()
        with pytest.raises(PeerLostError, match="worker 1 is gone"):
            worker.send(torch.ones(1), to=1, lane=3).wait()
    for wire in other.values():
        wire.close()


def test_the_sender_is_told_when_whoever_receives_is_gone(midst):
    other = strangers(midst, 1)
    with closing(midst.worker(0)) as worker:
        handle = worker.send(torch.ones(8 * PIECE), to=1)
        other[0].send(RelayRequest(RelayOperation.RECEIVE, count=32 * PIECE).packed())
        for wire in other.values():
            wire.close()
        with pytest.raises(PeerLostError, match="worker 1 is gone"):
            handle.wait()


def test_whoever_waits_for_a_third_learns_that_the_second_is_gone():
    with closing(Midst(3)) as midst:
        second, third = strangers(midst, 1), strangers(midst, 2)
        with closing(midst.worker(0)) as worker:
            handle = worker.mean(torch.ones(4))
            second[0].send(RelayRequest(RelayOperation.MEAN, SUMMED[0], 4).packed() + bytes(16))
            second[CONTROL].close()
            for each in (handle, worker.mean(torch.ones(4), lane=1)):
                with pytest.raises(PeerLostError, match=r"mean of 4 float32, lane [01]: worker 1 is gone"):
                    each.wait()
        for wire in (*second.values(), *third.values()):
            wire.close()


def test_whoever_hangs_within_an_exchange_is_lost():
    with closing(Midst(2, timeout=1.0)) as midst, closing(midst.worker(0)) as worker:
        other = strangers(midst, 1)
        handle = worker.broadcast(torch.ones(PIECE), root=1)
        other[0].send(RelayRequest(RelayOperation.BROADCAST, count=4 * PIECE, other=1).packed() + bytes(PIECE + 1))
        with pytest.raises(PeerLostError, match=r"no sign of life from (worker 1|the driver) for 1 s"):
            handle.wait()
        for wire in other.values():
            wire.close()


def test_the_centre_is_gone_with_any_worker(midst):
    centres, other = [], midst.worker(1)
    with closing(midst.worker(0)) as worker:
        thread = threading.Thread(target=lambda: centres.append(other.centre(torch.ones(3))))
        thread.start()
        centre = worker.centre(torch.ones(3))
        thread.join()
        other.close()
        with pytest.raises(PeerLostError, match="worker 1 is gone"):
            while True:  # until it is noticed
                centre.exchange(torch.ones(3), 0.5)


def test_all_are_told_when_the_driver_ends():
    midst = Midst(2)
    with closing(midst.worker(0)) as worker, closing(midst.worker(1)):
        handle = worker.mean(torch.ones(2 * PIECE))
        midst.star.close()
        with pytest.raises(PeerLostError, match="lane 0: the driver is gone"):
            handle.wait()
        with pytest.raises(PeerLostError, match="the driver is gone"):
            worker.barrier()
    with pytest.raises(PeerLostError, match="the driver is gone"):
        midst.worker(1)
    midst.close()


@pytest.mark.parametrize(
    ("rank", "lane"), [(0, 0), (0, CONTROL), (2, 0), (-1, 0), (1, LANES + 1), (1, -1), ("1", 0), (None, 0), (1, [])]
)
def test_who_has_no_place_is_shown_out(midst, rank, lane):
    with closing(midst.worker(0)):
        own, other = midst.connection()
        midst.star.adopt(other, rank, lane)
        wire = Connection(own, "the driver", 30.0)
        with pytest.raises(PeerLostError, match="the driver has no place for worker"):
            wire.be_assured()
        wire.close()


NONSENSE = [
    b"\xff" * LENGTH,
    b"GET / HTTP/1.1\r\nHost: driver\r\n\r\n"[:LENGTH],
    RelayRequest(RelayOperation.MEAN, REAL, 1 << 40).packed()[:-16] + b"\xff" * 16,
    RelayRequest(RelayOperation.READ, REAL, 3).packed(),
    RelayRequest(RelayOperation.BROADCAST, count=3, other=-1).packed(),
    RelayRequest(RelayOperation.MEAN, count=3).packed(),
]


@pytest.mark.parametrize("said", NONSENSE)
@pytest.mark.parametrize("lane", [0, CONTROL])
def test_nonsense_is_answered_with_a_sentence(said, lane):
    with closing(Midst(1)) as midst:
        own = strangers(midst, 0)
        own[lane].send(said)
        with pytest.raises(DistributedError, match=r"worker 0 (sends a request|asks for)"):
            own[lane].be_assured()
        for wire in own.values():
            wire.close()


def test_the_nonsense_of_one_is_told_to_all(midst):
    other = strangers(midst, 1)
    with closing(midst.worker(0)) as worker:
        for lane in (0, CONTROL):
            other[lane].send(NONSENSE[0])
        for ask in (worker.barrier, worker.mean(torch.ones(3)).wait):
            with pytest.raises(DistributedError, match="worker 1 sends a request that nobody understands"):
                ask()
    for wire in other.values():
        wire.close()


def test_too_many_numbers_at_once_are_refused(midst):
    other = strangers(midst, 1)
    other[CONTROL].send(RelayRequest(RelayOperation.GATHER, REAL, NUMBERS + 1).packed())
    with pytest.raises(DistributedError, match=f"worker 1 sends a request for {NUMBERS + 1} values at once"):
        other[CONTROL].be_assured()
    for wire in other.values():
        wire.close()


def test_the_driver_keeps_a_few_pieces_only():
    tracemalloc.start()
    try:
        with closing(Midst(2)) as midst, closing(midst.worker(0)) as one, closing(midst.worker(1)) as other:
            handles = [each.mean(torch.ones(32 * PIECE // 4)) for each in (one, other)]  # torch's memory isn't counted
            for handle in handles:
                handle.wait()
            assert tracemalloc.get_traced_memory()[1] < 4 * LANES * PIECE
    finally:
        tracemalloc.stop()
