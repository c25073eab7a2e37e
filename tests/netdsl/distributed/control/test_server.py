"""Workers and the control server talk over real connections. A process that loses its supervisor ends."""

from __future__ import annotations

import os
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from queue import SimpleQueue

import msgspec
import pytest

from netdsl.distributed.control import client as control_client
from netdsl.distributed.control import server as control_server
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.heartbeat import Pulse
from netdsl.distributed.control.identity import Identity
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.control.protocol import (
    Abort,
    Ended,
    Ending,
    Heartbeat,
    Hello,
    Purpose,
    Refused,
    Sign,
    StopAfterRound,
    StoreRequest,
    Welcome,
    WorkerReport,
    receive_exactly,
    receive_from_server,
    send,
)
from netdsl.distributed.control.reception import PER_PEER
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.control.versions import Versions
from netdsl.distributed.transports.connect import ControlStore
from netdsl.errors import DistributedError, PeerLostError
from tests.patience import PATIENCE

HERE = NetworkPlace.at("127.0.0.1")
BEAT = 0.05
TOKEN_LENGTH = len(Identity.new().token)


@pytest.fixture(params=[None, HERE], ids=["local", "network"])
def where(request):
    """Return the place of a server: none for a local socket, or one with a port and encrypted connections."""
    return request.param


def client_of(server, rank=0):
    """Return a worker's client that doesn't end this process, and doesn't count its processor time as a sign."""
    client = ControlClient(server.address(), rank, BEAT, leave=lambda reason: None)
    client.pulse = Pulse(lambda: 0.0)
    return client


def name_at(where):
    """Return the name of the first worker, which includes its host if there can be several."""
    return "worker 0" if where is None else f"worker 0 on {socket.gethostname()}"


def next_event(server, rank):
    """Return the next event of this worker."""
    event = server.next(PATIENCE)
    assert event is not None and event[0] == rank
    return event[1]


def hello_of(rank, **changes):
    return Hello(rank, socket.gethostname(), versions=Versions.here(), **changes)


def connect_to(server):
    """Return a connection to which only the token is missing."""
    return closing(server.address().place.connect(PATIENCE))


def is_refused(connection):
    """Return whether the server ends a connection, perhaps with the reply that it doesn't admit the worker."""
    answer = None
    with suppress(ConnectionResetError):  # the server hadn't read everything
        answer = receive_from_server(connection)
        assert connection.recv(1) == b""
    return answer in (None, Refused())


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_messages_go_both_ways(where):
    with ControlServer(where, 2) as server, client_of(server, 1) as client:
        assert next_event(server, 1) == hello_of(1)
        client.report({"kind": "Began", "name": "Zoë", "times": [1, 2.5, None]})
        assert next_event(server, 1) == WorkerReport({"kind": "Began", "name": "Zoë", "times": [1, 2.5, None]})
        assert not client.is_to_stop()
        server.tell_all(StopAfterRound())
        wait_for(client.is_to_stop)
        server.tell_all(Abort("a worker was lost: worker 0 ended by SIGKILL"))
        wait_for(lambda: client.interruption.reason)
        assert client.interruption.reason == "a worker was lost: worker 0 ended by SIGKILL"
        client.report_end(Ending.FAILED, "a leg is broken")
        assert next_event(server, 1) == Ended(Ending.FAILED, "a leg is broken")
        client.__exit__()
        assert next_event(server, 1) is None


def test_heartbeats_show_whether_a_worker_works_or_waits(where):
    with ControlServer(where, 1) as server, client_of(server) as client:
        next_event(server, 0)
        client.pulse.beat()
        assert next_event(server, 0) == Heartbeat(Sign.WORKING)
        with client.pulse.waiting():
            assert next_event(server, 0) == next_event(server, 0) == Heartbeat(Sign.WAITING)
        assert next_event(server, 0) in (Heartbeat(Sign.WAITING), Heartbeat(Sign.WORKING))
        while server.next(4 * BEAT) is not None:
            pass
        assert server.next(4 * BEAT) is None  # a worker that neither works nor waits gives no sign


@pytest.mark.parametrize(
    "token",
    ["", "0" * (TOKEN_LENGTH - 1), "0" * TOKEN_LENGTH, "\xff" * TOKEN_LENGTH, "GET / HTTP/1.1\r\nHost: driver\r\n\r\n"],
)
def test_an_unauthorized_client_is_refused_without_disturbing_workers(where, token):
    with ControlServer(where, 2, adopt=lambda *connection: pytest.fail("a stranger got in")) as server:
        for purpose in Purpose:
            with connect_to(server) as connection:
                with suppress(OSError):  # the server closes the connection after a wrong token
                    connection.sendall(token.encode("latin-1"))
                    send(connection, hello_of(0, purpose=purpose))
                    connection.shutdown(socket.SHUT_WR)
                assert is_refused(connection)
        with client_of(server):
            assert next_event(server, 0) == hello_of(0)


def test_a_worker_with_another_runs_token_gets_a_reason(where, monkeypatch):
    monkeypatch.setattr(control_client, "_KNOCKING", 0.2)
    with ControlServer(where, 1) as server, ControlServer(where, 1) as other:
        address = msgspec.structs.replace(server.address(), token=other.address().token)
        with pytest.raises(PeerLostError, match=r"ended all connections for 0.2 s without an answer; check that no"):
            ControlClient(address, 0)
        assert server.next(0.0) is None


def framed(data, length=None):
    return struct.pack(">I", len(data) if length is None else length) + data


def hello_with(**changes):
    """Return a worker's hello with some invalid values."""
    values = {"type": "Hello", "rank": 0, "host": "x", "purpose": "control", "lane": 0} | changes
    return framed(msgspec.msgpack.encode(values))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}\n",
        framed(b""),
        framed(b"\xc1" * 50),
        framed(b"\x91" * 10_000),
        framed(b"", 1 << 31),
        framed(msgspec.msgpack.encode(Heartbeat(Sign.WORKING))),
        hello_with(rank=2),
        hello_with(rank=-1),
        hello_with(rank="0"),
        hello_with(rank=None),
        hello_with(host=5),
        hello_with(purpose="listen"),
        hello_with(purpose="relay", lane=[]),
        hello_with(purpose="relay"),  # this run uses no relay
        hello_with(type="Welcome"),
    ],
)
def test_an_invalid_hello_is_refused(where, data):
    with ControlServer(where, 2) as server:
        with connect_to(server) as connection:
            with suppress(OSError):  # the server doesn't even read all of it
                connection.sendall(server.address().token.encode() + data)
                connection.shutdown(socket.SHUT_WR)
            assert is_refused(connection)
        with client_of(server):
            assert next_event(server, 0) == hello_of(0)


def test_a_handshake_has_one_deadline(where, monkeypatch):
    """A client that sends a byte now and then doesn't keep its place for long."""
    monkeypatch.setattr(control_server, "HANDSHAKE", 0.5)
    with ControlServer(where, 1) as server, connect_to(server) as connection:
        begun = time.monotonic()
        with suppress(ConnectionError):
            for byte in server.address().token.encode():
                connection.sendall(bytes([byte]))
                time.sleep(0.1)
        assert is_refused(connection)
        assert time.monotonic() - begun < 0.1 * TOKEN_LENGTH + 5
        assert server.next(0.0) is None


def test_the_end_of_a_worker_counts_although_it_no_longer_reads_answers():
    heartbeats = 100  # fewer than fit into the connection
    with ControlServer(None, 1) as server:
        with connect_to(server) as connection:
            connection.sendall(server.address().token.encode())
            send(connection, hello_of(0))
            assert receive_from_server(connection) == Welcome()
            for _ in range(heartbeats):
                send(connection, Heartbeat(None))
            send(connection, Ended(Ending.DONE))
        assert [next_event(server, 0) for _ in range(3)] == [hello_of(0), Ended(Ending.DONE), None]


def test_an_accepted_worker_may_be_silent(where, monkeypatch):
    monkeypatch.setattr(control_server, "HANDSHAKE", 0.2)
    with ControlServer(where, 1) as server, client_of(server) as client:
        next_event(server, 0)
        assert server.next(0.6) is None
        client.report({"late": True})
        assert next_event(server, 0) == WorkerReport({"late": True})


def test_a_worker_connects_while_many_clients_are_silent(where, monkeypatch):
    monkeypatch.setattr(control_server, "HANDSHAKE", PATIENCE)
    with ControlServer(where, 1) as server, ExitStack() as stack:
        for _ in range(PER_PEER + 6):
            stack.enter_context(connect_to(server))
        stack.enter_context(client_of(server))
        assert next_event(server, 0) == hello_of(0)


def test_a_server_without_free_descriptors_recovers():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ControlServer(None, 1) as server, socket.socket(socket.AF_UNIX) as connection, ExitStack() as descriptors:
        connection.settimeout(PATIENCE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                while True:
                    descriptors.callback(os.close, os.dup(connection.fileno()))
            connection.connect(server.address().place.name)
            time.sleep(0.2)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        connection.sendall(server.address().token.encode())
        send(connection, hello_of(0))
        assert receive_from_server(connection) == Welcome()
        assert next_event(server, 0) == hello_of(0)


def test_many_workers_connect_at_once(where):
    size = 2 * PER_PEER
    with ControlServer(where, size) as server, ExitStack() as stack, ThreadPoolExecutor(size) as pool:
        clients = [
            stack.enter_context(client) for client in pool.map(lambda rank: client_of(server, rank), range(size))
        ]
        stores = list(pool.map(lambda client: ControlStore(client.open_store()), clients))
        assert sorted(pool.map(lambda store: store.add("ready", 1), stores)) == list(range(1, size + 1))
        assert {server.next(PATIENCE)[0] for _ in range(size)} == set(range(size))


def test_each_rank_has_one_worker(where):
    """Spark may start a task again, even after the first attempt has ended."""
    with ControlServer(where, 2) as server:
        with (
            client_of(server, 0),
            pytest.raises(PeerLostError, match="refused worker 0, because a worker with this rank is already"),
        ):
            client_of(server, 0)
        assert next_event(server, 0) == hello_of(0)
        assert next_event(server, 0) is None
        with pytest.raises(PeerLostError, match="is already connected"):
            client_of(server, 0)
        with client_of(server, 1):
            assert next_event(server, 1) == hello_of(1)


def test_a_lane_is_handed_over_with_all_later_bytes(where):
    adopted = SimpleQueue()
    with (
        ControlServer(where, 2, adopt=lambda *connection: adopted.put(connection)) as server,
        connect_to(server) as connection,
    ):
        connection.sendall(server.address().token.encode())
        frame = msgspec.msgpack.encode(hello_of(1, purpose=Purpose.RELAY, lane=3))
        connection.sendall(framed(frame) + b"a request")
        adopted_end, rank, lane = adopted.get(timeout=PATIENCE)
        with closing(adopted_end):
            assert (rank, lane, adopted_end.gettimeout()) == (1, 3, None)
            adopted_end.settimeout(PATIENCE)
            assert receive_exactly(adopted_end, 9) == b"a request"
            assert receive_from_server(connection) == Welcome()
            adopted_end.sendall(b"an answer")
            assert receive_exactly(connection, 9) == b"an answer"
        assert server.next(0.0) is None


def test_a_lane_without_a_relay_is_refused(where):
    with (
        ControlServer(where, 1) as server,
        client_of(server) as client,
        pytest.raises(PeerLostError, match="refused worker 0"),
    ):
        client.open_lane(2)


@pytest.mark.parametrize(
    "data",
    [
        b"5\n\n\n\n",
        framed(b"\xc1"),
        framed(b"", (1 << 24) + 1),
        framed(msgspec.msgpack.encode(Welcome())),
        framed(msgspec.msgpack.encode(hello_of(0))),
        framed(msgspec.msgpack.encode({"type": "WorkerReport", "contents": 5})),
    ],
)
def test_an_unknown_message_ends_the_connection(where, data):
    with ControlServer(where, 1) as server, connect_to(server) as connection:
        connection.sendall(server.address().token.encode())
        send(connection, hello_of(0))
        assert receive_from_server(connection) == Welcome()
        connection.sendall(data + bytes(100))
        assert next_event(server, 0) == hello_of(0)
        assert next_event(server, 0) is None
        assert is_refused(connection)


def test_all_workers_share_one_store(where):
    with (
        ControlServer(where, 2) as server,
        client_of(server, 0) as first,
        client_of(server, 1) as second,
    ):
        one, other = ControlStore(first.open_store()), ControlStore(second.open_store())
        one.set("name", "Zoë")
        assert other.get("name") == "Zoë".encode()
        assert (one.add("count", 2), other.add("count", 3), one.get("count")) == (2, 5, b"5")
        assert not other.check(["name", "late"])
        with ThreadPoolExecutor(2) as pool:
            waiting = pool.submit(other.wait, ["late", "name"])
            time.sleep(0.05)
            assert not waiting.done()
            one.set("late", b"\0\xff")
            waiting.result(PATIENCE)
        assert other.check(["name", "late"])
        assert other.get("late") == b"\0\xff"
        assert one.compare_set("name", "somebody else", "Max") == "Zoë".encode()
        assert one.compare_set("name", "Zoë", "Max") == other.get("name") == b"Max"
        assert one.compare_set("new", "", "first") == b"first"
        assert (other.delete_key("name"), one.delete_key("name"), one.check(["name"])) == (True, False, False)


@pytest.mark.parametrize(
    "request_of_a_stranger",
    [
        StoreRequest("burn", ("key",)),
        StoreRequest("get", ()),
        StoreRequest("set", ("key",), bytes((1 << 20) + 1)),
        StoreRequest("add", ("text",), amount=1),
        Heartbeat(Sign.WORKING),
    ],
    ids=["an unknown operation", "no key", "a long value", "a sum with a text", "a heartbeat"],
)
def test_an_invalid_store_request_ends_only_its_connection(where, request_of_a_stranger):
    with ControlServer(where, 1) as server, client_of(server) as client:
        store = ControlStore(client.open_store())
        store.set("text", "no number")
        with connect_to(server) as connection:
            connection.sendall(server.address().token.encode())
            send(connection, hello_of(0, purpose=Purpose.STORE))
            assert receive_from_server(connection) == Welcome()
            send(connection, request_of_a_stranger)
            assert is_refused(connection)
        assert store.get("text") == b"no number"


def test_a_worker_that_waits_at_the_store_notices_the_servers_end(where):
    problems = SimpleQueue()

    def wait(store):
        with pytest.raises(PeerLostError, match="lost the connection to the control server's store") as caught:
            store.get("nothing")
        problems.put(caught.value)

    with ControlServer(where, 1) as server:
        client = client_of(server)
        store = ControlStore(client.open_store())
        waiting = threading.Thread(target=wait, args=(store,))
        waiting.start()
        time.sleep(0.05)
    assert problems.get(timeout=PATIENCE)
    waiting.join()
    client.__exit__()


def test_a_worker_ends_when_its_supervisor_has_ended(where):
    program = (
        "import msgspec, sys, time\n"
        "from netdsl.distributed.control.address import ControlAddress\n"
        "from netdsl.distributed.control.client import ControlClient\n"
        "with ControlClient(msgspec.json.decode(sys.stdin.readline(), type=ControlAddress), 0): time.sleep(600)"
    )
    with ControlServer(where, 1) as server:
        worker = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        worker.stdin.write(msgspec.json.encode(server.address()).decode() + "\n")
        worker.stdin.flush()
        assert server.next(PATIENCE) is not None
    try:
        _, said = worker.communicate(timeout=PATIENCE)
    finally:
        worker.kill()
    assert (worker.returncode, said) == (1, f"{name_at(where)}: the supervisor is gone\n")


def test_a_waiting_worker_ends_when_the_supervisor_has_ended(where):
    reasons = SimpleQueue()
    with ControlServer(where, 1) as server:
        client = ControlClient(server.address(), 0, BEAT, leave=reasons.put)
        client.interruption.listen(lambda problem: reasons.put(str(problem)))
        client.__enter__()
    assert reasons.get(timeout=PATIENCE) == "the supervisor is gone"
    assert reasons.get(timeout=PATIENCE) == f"{name_at(where)}: the supervisor is gone"
    client.__exit__()


def test_a_worker_that_waits_to_take_part_ends_in_order_when_the_supervisor_gives_up(where):
    """It may be the supervisor's own process, which still has to report the reason."""
    with ControlServer(where, 1) as server, client_of(server) as client:
        next_event(server, 0)
        server.tell_all(Abort("worker 1 is late"))
        server.tell_all(Abort("worker 1 can't be reached", final=True))
        with pytest.raises(PeerLostError, match="worker 1 can't be reached"):
            client.await_join()


def test_a_worker_that_is_cut_off_ends_itself(monkeypatch):
    """It holds a GPU, and the supervisor may already have started the run again elsewhere."""
    reasons = SimpleQueue()
    monkeypatch.setattr(control_server, "Confirmed", lambda: StopAfterRound())  # no answer arrives
    with ControlServer(HERE, 1, deadline=0.5) as server:
        with ControlClient(server.address(), 0, BEAT, leave=reasons.put):
            place = server.address().place
            assert reasons.get(timeout=PATIENCE).startswith(
                f"worker 0 on {socket.gethostname()}: the supervisor at {place} hasn't answered for 0.5 s, so this "
                "worker ends; check the network between the two machines"
            )
        assert next_event(server, 0) == hello_of(0)


def test_answers_let_a_worker_continue():
    reasons = []
    with ControlServer(HERE, 1) as server, ControlClient(server.address(), 0, BEAT, leave=reasons.append) as client:
        begun = client._lease._renewed
        wait_for(lambda: client._lease._renewed > begun)
    assert reasons == []


def test_the_system_gives_up_unconfirmed_data_at_the_deadline():
    with ControlServer(HERE, 1, deadline=7.0) as server, connect_to(server) as connection:
        assert connection._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 7000


def test_a_worker_that_reported_its_end_may_lose_the_server(where):
    reasons = []
    with ControlServer(where, 1) as server:
        client = ControlClient(server.address(), 0, BEAT, leave=reasons.append)
        client.__enter__()
        client.report_end(Ending.DONE)
    time.sleep(0.2)
    client.__exit__()
    assert reasons == []


def test_the_server_may_end_before_the_report_of_an_end_returns(where, monkeypatch):
    reasons, seen, send = [], threading.Event(), ControlClient._send_message
    with ControlServer(where, 1) as server, ExitStack() as stack:
        client = ControlClient(server.address(), 0, BEAT, leave=reasons.append)
        take = client._take_messages
        monkeypatch.setattr(client, "_take_messages", lambda: (take(), seen.set()))

        def send_and_lose(message):
            send(client, message)
            if isinstance(message, Ended):
                server.dismiss(0)
                assert seen.wait(PATIENCE)

        monkeypatch.setattr(client, "_send_message", send_and_lose)
        stack.enter_context(client)
        next_event(server, 0)
        client.report_end(Ending.DONE)
    assert reasons == []


def test_a_missing_server_is_reported(where):
    with ControlServer(where, 1) as server:
        gone = server.address()
    with pytest.raises(PeerLostError, match=rf"the control server at {gone.place} can't be reached"):
        ControlClient(gone, 0)


def test_a_port_can_be_used_once_it_is_free_again():
    with ControlServer(HERE, 1) as server:
        port = server.address().place.port
        place = NetworkPlace.at("127.0.0.1", port)
        with pytest.raises(
            DistributedError, match=f"can't listen at 127.0.0.1, port {port}: already in use; name a free port"
        ):
            ControlServer(place, 1)
    with ControlServer(place, 1) as again:
        assert again.address().place.port == port


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(DistributedError, match=r"can't listen at 203.0.113.7: .*; name an address of this machine"):
        ControlServer(NetworkPlace.at("203.0.113.7"), 1)


def test_workers_that_ask_get_the_modules_of_the_command(where):
    files = {"own_layers.py": b"value = 1", "own_package/table.bin": os.urandom(3 << 20)}
    with ControlServer(where, 2, code=files) as server, client_of(server, 1) as client:
        assert client.fetch_code() == files
        assert next_event(server, 1) == hello_of(1)
        assert server.next(0.0) is None  # it isn't a worker that doesn't see the run's folder
