"""Workers and the driver talk over real connections; a process that loses the driver ends."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import suppress
from queue import SimpleQueue

import pytest
from netdsl.spark.workers.transport import Transport
from netdsl.spark.workers.worker_spec import SparkWorkerSpec

from netdsl.distributed.supervision.control_client import ControlClient, connected
from netdsl.distributed.supervision.control_server import WELCOME, ControlServer
from netdsl.distributed.supervision.heartbeat import Sign
from netdsl.errors import DistributedError, PeerLostError

HERE = "127.0.0.1"


def place_of(hub, size, **other):
    values = {"host": HERE, "hub": hub.port, "store": 0, "token": hub.token} | other
    return SparkWorkerSpec("run", "folder", size, Transport.PEER, **values)


def heard(hub, rank):
    found = hub.next(10)
    assert found is not None and found[0] == rank
    return found[1]


def test_both_ways():
    with ControlServer(HERE, 2) as hub:
        place = place_of(hub, 2)
        assert SparkWorkerSpec.of(place.text()) == place
        with ControlClient(place, 1) as channel:
            assert heard(hub, 1) == {"host": socket.gethostname()}
            channel.tell({"kind": "Began", "name": "Zoë"})
            assert heard(hub, 1) == {"kind": "Began", "name": "Zoë"}
            channel.signs.give()
            assert heard(hub, 1) == {"sign": Sign.WORKING.value}
            with channel.signs.waiting():
                assert heard(hub, 1) == {"sign": Sign.WAITING.value}
            assert not channel.wanted()
            hub.send({"stop": True})
            assert channel._stop.wait(10)
        while (said := heard(hub, 1)) is not None:
            assert "sign" in said


@pytest.mark.parametrize(
    "change",
    [
        {"token": "of another"},
        {"token": None},
        {"rank": 2},
        {"rank": "0"},
        {"rank": None},
        {"more": 1},
        {"lane": 0},  # there is no star
    ],
)
def test_whoever_is_no_worker_stays_outside(change):
    with ControlServer(HERE, 2) as hub:
        hello = {"token": hub.token, "rank": 0, "host": "x", "lane": None} | change
        with socket.create_connection((HERE, hub.port), 10) as connection:
            connection.sendall(f"{json.dumps(hello)}\n".encode())
            assert connection.recv(100).removeprefix(WELCOME) == b""
        with ControlClient(place_of(hub, 2), 0):
            assert heard(hub, 0) == {"host": socket.gethostname()}


@pytest.mark.parametrize("hello", [b"no hello\n", b"[]\n", b"\xff\n", b"[" * 5000])
def test_what_is_no_hello(hello):
    with ControlServer(HERE, 2) as hub, socket.create_connection((HERE, hub.port), 10) as connection:
        connection.sendall(hello)
        with suppress(ConnectionResetError):  # some of it isn't even read
            assert connection.recv(1) == b""


def test_there_is_one_worker_of_a_rank():
    """Spark may begin a task once more, also when the first has ended."""
    with ControlServer(HERE, 2) as hub:
        place = place_of(hub, 2)
        with ControlClient(place, 0), pytest.raises(PeerLostError, match="doesn't let worker 0 in; it had one already"):
            ControlClient(place, 0)
        assert heard(hub, 0) == {"host": socket.gethostname()}
        assert heard(hub, 0) is None
        with pytest.raises(PeerLostError, match="it had one already"):
            ControlClient(place, 0)
        with ControlClient(place, 1):
            assert heard(hub, 1) == {"host": socket.gethostname()}


def test_a_lane_is_handed_over_with_all_that_follows():
    adopted = SimpleQueue()
    with ControlServer(HERE, 2, adopt=lambda *given: adopted.put(given)) as hub:
        with socket.create_connection((HERE, hub.port), 10) as connection:
            hello = {"token": hub.token, "rank": 1, "host": "x", "lane": 3}
            connection.sendall(f"{json.dumps(hello)}\na request".encode())
            driver, rank, lane = adopted.get(timeout=10)
            with driver:
                assert (rank, lane, driver.gettimeout()) == (1, 3, None)
                driver.settimeout(10)
                assert driver.recv(9, socket.MSG_WAITALL) == b"a request"
        assert hub.next(0.0) is None


def test_what_nobody_understands_ends_the_connection():
    with ControlServer(HERE, 1) as hub, connected(place_of(hub, 1), 0) as connection:
        connection.sendall(b"5\n")
        assert heard(hub, 0) == {"host": socket.gethostname()}
        assert heard(hub, 0) is None
        assert connection.recv(1) == b""


def test_a_worker_ends_when_the_driver_is_gone():
    program = (
        "import sys, time; from netdsl.distributed.supervision.control_client import Channel\n"
        "from netdsl.spark.workers.worker_spec import Place\n"
        "with Channel(Place.of(sys.argv[1]), 0): time.sleep(600)"
    )
    with ControlServer(HERE, 1) as hub:
        worker = subprocess.Popen([sys.executable, "-c", program, place_of(hub, 1).text()])
        assert hub.next(60) is not None
    try:
        assert worker.wait(20) == 1
    finally:
        worker.kill()


def test_a_driver_that_is_not_there():
    with ControlServer(HERE, 1) as hub:
        place = place_of(hub, 1)
    with pytest.raises(PeerLostError, match=rf"the driver at 127.0.0.1:{place.hub} can't be reached"):
        ControlClient(place, 0)


def test_a_port_that_is_taken():
    with (
        ControlServer(HERE, 1) as hub,
        pytest.raises(DistributedError, match=f"can't listen at {HERE}:{hub.port}.*a free one"),
    ):
        ControlServer(HERE, 1, hub.port)
    with ControlServer(HERE, 1, hub.port) as again:
        assert again.port == hub.port
