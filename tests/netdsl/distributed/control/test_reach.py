"""Workers use the first address that leads to the right server. An error names each address and what happened."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack, contextmanager

import msgspec
import pytest

from netdsl.distributed.control import reach
from netdsl.distributed.control import server as control_server
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.doors import _peer_at
from netdsl.distributed.control.encryption import EncryptedSocket
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.control.protocol import Join
from netdsl.distributed.control.reach import UnreachableServerError
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.journal import Membership
from netdsl.errors import PeerLostError
from tests.patience import PATIENCE


def has_ipv6():
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return False
    return True


needs_ipv6 = pytest.mark.skipif(not socket.has_ipv6 or not has_ipv6(), reason="this machine has no IPv6")


@contextmanager
def server_with(*hosts, bound="127.0.0.2"):
    """Serve at one address, and let workers look for it under others."""
    with ControlServer(NetworkPlace(hosts, bound), 2) as server:
        yield server


def hosts_of(client):
    """Return the address that a client has reached."""
    return client._address.place.hosts


@pytest.fixture
def names(monkeypatch):
    """Return a dict of names and addresses, which the name service knows."""
    known, look_up = {}, socket.getaddrinfo

    def getaddrinfo(host, port, *given, **named):
        if host in known:
            return [each for ip in known[host] for each in look_up(ip, port, *given, **named)]
        if any(letter.isalpha() for letter in host) and ":" not in host:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(host, port, *given, **named)

    monkeypatch.setattr(reach.socket, "getaddrinfo", getaddrinfo)
    return known


def test_the_address_that_answers_is_used(names):
    names["node1"] = ["127.0.1.1"]  # as in Debian's /etc/hosts
    with (
        server_with("node1", "127.0.0.3", "nobody", "127.0.0.2") as server,
        ControlClient(server.address(), 0, leave=print) as client,
    ):
        assert hosts_of(client) == ("127.0.0.2",)
        assert client.open_store().getpeername()[0] == "127.0.0.2"  # the same way


def test_a_name_with_several_addresses_is_tried_at_all_of_them(names):
    names["node1"] = ["127.0.0.4", "127.0.0.2"]
    with server_with("node1") as server, ControlClient(server.address(), 0, leave=print) as client:
        assert hosts_of(client) == ("127.0.0.2",)


def test_an_address_that_never_answers_costs_no_time():
    """Its backlog is full, which is as silent as a firewall that drops packets."""
    with socket.socket() as silent, ExitStack() as stack:
        silent.bind(("127.0.0.3", 0))
        silent.listen(0)
        port = silent.getsockname()[1]
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.3", port))
        place = NetworkPlace(("127.0.0.3", "127.0.0.2"), "127.0.0.2", (port,))
        with ControlServer(place, 1) as server, ControlClient(server.address(), 0, leave=print) as client:
            assert hosts_of(client) == ("127.0.0.2",)


@needs_ipv6
def test_a_network_with_ipv6_alone_works():
    with server_with("::1", bound="::1") as server, ControlClient(server.address(), 0, leave=print) as client:
        assert (hosts_of(client), client.ip) == (("::1",), "::1")
        assert str(server.address().place) == f"[::1]:{server.address().place.port}"


@needs_ipv6
@pytest.mark.parametrize("host", ["::1", "127.0.0.1"])
def test_a_server_listens_for_both_kinds_of_addresses(host):
    with server_with(host, bound=None) as server, ControlClient(server.address(), 0, leave=print) as client:
        assert (hosts_of(client), client.ip) == ((host,), host)


def test_a_server_listens_on_a_system_without_ipv6(monkeypatch):
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    with server_with("127.0.0.1", bound=None) as server, ControlClient(server.address(), 0, leave=print) as client:
        assert hosts_of(client) == ("127.0.0.1",)


def test_another_server_at_the_same_port_learns_no_token(monkeypatch):
    """The wrong machine can have one of the addresses, such as that of a container's bridge."""
    received = []
    is_received = control_server.is_received
    monkeypatch.setattr(control_server, "is_received", lambda *given: received.append(given) or is_received(*given))
    with server_with("127.0.0.3", "127.0.0.2") as server:
        right = server.address()
        place = NetworkPlace(("127.0.0.3",), "127.0.0.3", (right.place.port,))
        with ControlServer(place, 1) as wrong, ControlClient(right, 0, leave=print) as client:
            assert hosts_of(client) == ("127.0.0.2",)
            assert [token for _, token, _ in received] == [right.token]
            assert wrong.next(0.0) is None
            greeted = msgspec.structs.replace(
                right.place, greeting=wrong.address().place.greeting, hosts=("127.0.0.3",)
            )
            with pytest.raises(
                UnreachableServerError, match=r"127.0.0.3 failed: another program answers there, with another"
            ):
                greeted.connect(PATIENCE)


def test_an_error_names_every_address_with_what_happened_there(names):
    names["node1"] = ["127.0.1.1"]
    with server_with("node1", "127.0.0.3", "nobody") as server:
        with pytest.raises(PeerLostError) as caught:
            ControlClient(server.address(), 0)
        token, place = server.address().token, server.address().place
    said = str(caught.value)
    assert said.startswith(f"the control server at node1:{place.port} can't be reached: ")
    refused = "refuses the connection (a firewall rejects it, or nothing listens there)"
    for what in (
        f"node1 (127.0.1.1) {refused}",
        f"127.0.0.3 {refused}",
        "nobody isn't a name that this machine knows",
    ):
        assert what in said
    assert place.greeting not in said and token not in said


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (TimeoutError("timed out"), r"doesn't answer \(a firewall may drop the packets, or the machine is off\)"),
        (OSError(113, "No route to host"), r"can't be reached from this machine \(No route to host\)"),
        (OSError(5, "Input/output error"), r"failed: .*Input/output error"),
    ],
)
def test_other_problems_are_described(problem, said):
    with pytest.raises(UnreachableServerError, match=f"node1 {said}"):
        raise UnreachableServerError({"node1": problem})


def test_connections_that_come_too_late_are_closed(monkeypatch):
    """Two addresses answer. The second one's connection ends, and the server keeps only the first."""
    monkeypatch.setattr(reach, "_APART", 0.0)
    closed, close = [], EncryptedSocket.close
    monkeypatch.setattr(EncryptedSocket, "close", lambda each: closed.append(each) or close(each))
    with ControlServer(NetworkPlace(("127.0.0.2", "127.0.0.3")), 1) as server:
        connection = server.address().place.connect(PATIENCE)
        for thread in threading.enumerate():
            if thread.name == "reaching":
                thread.join(PATIENCE)
        assert connection not in closed
        connection.close()
        assert {each.fileno() for each in closed} == {-1}


def test_workers_beside_the_server_use_the_address_that_others_reached(monkeypatch):
    """Each address of the own machine answers, even if its network is dead."""
    connect = socket.socket.connect

    def connect_from_elsewhere(connection, where):
        if where[0] == "127.0.0.9":
            connection.bind(("127.0.0.8", 0))
        return connect(connection, where)

    monkeypatch.setattr(socket.socket, "connect", connect_from_elsewhere)
    with ControlServer(NetworkPlace(("127.0.0.1",)), 2) as server:
        address = server.address()
        elsewhere = msgspec.structs.replace(address.place, hosts=("127.0.0.9",))
        with (
            ControlClient(address, 0, leave=print) as first,
            ControlClient(msgspec.structs.replace(address, place=elsewhere), 1, leave=print) as second,
        ):
            assert (first.ip, second.ip) == ("127.0.0.1", "127.0.0.8")
            for _ in range(2):
                assert server.next(PATIENCE) is not None
            server.introduce(1, (0, 1))
            peers = [server.next(PATIENCE) for _ in range(2)]
            assert {rank: message.peer.ip for rank, message in peers} == {0: "127.0.0.9", 1: "127.0.0.8"}
            server.begin_meeting(Join(1, Membership(0, (0, 1)), "gloo", elastic=False))
            assert first.await_join() is not None and second.await_join() is not None
            assert (first.ip, second.ip) == ("127.0.0.9", "127.0.0.8")


def test_a_stranger_counts_once_whatever_addresses_it_takes():
    assert _peer_at("::ffff:10.7.0.1") == "10.7.0.1"
    assert _peer_at("2001:db8:1:2::7") == _peer_at("2001:db8:1:2:ffff::1") == "2001:db8:1:2::/64"
    assert _peer_at("2001:db8:1:3::7") != _peer_at("2001:db8:1:2::7")
