"""The first worker's machine is found under its addresses and names, and its ports can be chosen."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

from netdsl.distributed.control import interfaces, place
from netdsl.distributed.control.interfaces import OwnAddress, interface_with, own_addresses
from netdsl.distributed.control.place import NetworkPlace, Ports
from netdsl.distributed.control.server import ControlServer
from netdsl.errors import DistributedError

OWN = [
    OwnAddress("lo", "127.0.0.1"),
    OwnAddress("eth0", "10.7.0.1"),
    OwnAddress("lo", "::1"),
    OwnAddress("ib0", "fd00::7"),
]
FOUND = ("node1", "node1.example.org", "10.7.0.1", "fd00::7")


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """Pretend to be a machine with two networks."""
    monkeypatch.setattr(place, "own_addresses", lambda: OWN)
    monkeypatch.setattr(place, "own_names", lambda: ["node1", "node1.example.org"])


def test_a_machine_is_known_under_its_names_and_addresses():
    """SLURM sets no MASTER_ADDR, and Debian's own name means 127.0.1.1 there."""
    found = NetworkPlace.found({})
    assert (found.hosts, found.bound, found.ports) == (FOUND, None, (0,))


@pytest.mark.parametrize("here", ["localhost", "127.0.0.1", "127.0.1.1", "::1"])
def test_an_address_that_means_each_machine_itself_is_left_out(here):
    """Kubeflow sets MASTER_ADDR=localhost on the first machine."""
    assert NetworkPlace.found({"MASTER_ADDR": here}).hosts == FOUND


def test_the_named_address_comes_first():
    environment = {"MASTER_ADDR": "master", "MASTER_PORT": "23456"}
    assert NetworkPlace.found(environment).hosts == ("master", *FOUND)
    named = NetworkPlace.found(environment, "203.0.113.7")
    assert (named.hosts, named.bound) == (("203.0.113.7", "master", *FOUND), None)  # another machine forwards it
    assert NetworkPlace.found({}, "127.0.0.1") == NetworkPlace(("127.0.0.1", *FOUND), "127.0.0.1")
    assert NetworkPlace.found({}, "localhost").bound is None  # the name may mean another address elsewhere


def test_ports_are_parsed():
    assert (Ports.parse("5000"), Ports.parse("5000-5010")) == ((5000, 5000), (5000, 5010))
    for text in ("", "0", "65536", "7-6", "http", "-5", "5000-", "1-2-3"):
        with pytest.raises(DistributedError, match=f"--port {text}: not a port from 1 to 65535; give a number such as"):
            Ports.parse(text)


def test_the_environments_port_is_used_only_if_it_is_free():
    """torchrun itself may listen there."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = NetworkPlace.found({"MASTER_PORT": str(port)}, "127.0.0.1")
        assert found.ports == (port, 0)
        with ControlServer(found, 1) as server:
            assert server.address().place.port != port
    with ControlServer(found, 1) as server:
        assert server.address().place.port == port


def test_the_first_free_port_of_a_range_is_used():
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        ports = tuple(each.getsockname()[1] for each in taken)
        with pytest.raises(
            DistributedError, match=f"at 127.0.0.1, ports {ports[0]} to {ports[1]}: already in use; name a free port"
        ):
            ControlServer(NetworkPlace(("127.0.0.1",), "127.0.0.1", ports), 1)
        taken[1].close()
        with ControlServer(NetworkPlace(("127.0.0.1",), "127.0.0.1", ports), 1) as server:
            assert server.address().place.port == ports[1]


def test_interfaces_have_addresses_of_both_kinds():
    found = own_addresses()
    assert "127.0.0.1" in [ip for _, ip in found]
    assert interface_with("127.0.0.1") == next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    assert interface_with("203.0.113.7") is None
    table = (
        "fe80000000000000021122fffe334455 02 40 20 80     eth0\n"
        "fd000000000000000000000000000007 03 40 00 80      ib0\n"
        "00000000000000000000000000000001 01 80 10 80       lo\n"
    )
    assert interfaces._ipv6_addresses(table) == [OwnAddress("ib0", "fd00::7"), OwnAddress("lo", "::1")]
