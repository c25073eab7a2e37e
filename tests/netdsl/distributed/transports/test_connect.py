"""Workers find each other at the control server and exchange values."""

from __future__ import annotations

import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
import torch

from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.transports import connect as transports_connect
from netdsl.distributed.transports.connect import connect
from netdsl.distributed.transports.lanes import Lane
from netdsl.distributed.transports.relay.relay import Relay
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import PeerLostError
from tests.patience import PATIENCE

HERE, CPU = NetworkPlace.at("127.0.0.1"), torch.device("cpu")
INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
WITHOUT_GPUS = [Transport.SHARED_MEMORY, Transport.GLOO, Transport.RELAY]


@pytest.fixture(autouse=True)
def no_interface(monkeypatch):
    """Let this test choose the interfaces, and restore them afterwards."""
    for name in INTERFACES:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.mark.parametrize("place", [None, HERE], ids=["local", "network"])
@pytest.mark.parametrize("transport", WITHOUT_GPUS)
def test_workers_meet_and_exchange(transport, place):
    def work(rank):
        with (
            ControlClient(server.address(), rank) as control,
            closing(connect(transport, control, rank, 2, CPU, timeout=PATIENCE)) as communicator,
        ):
            buffer = torch.tensor([3.0, 4.0 + rank, 5.0])
            communicator.mean(buffer).wait()
            communicator.barrier()
            return buffer.tolist()

    with (
        closing(Relay(2, 30)) as relay,
        ControlServer(place, 2, adopt=relay.adopt) as server,
        ThreadPoolExecutor(2) as pool,
    ):
        assert list(pool.map(work, range(2))) == [[3.0, 4.5, 5.0]] * 2


@pytest.mark.parametrize("transport", WITHOUT_GPUS)
def test_workers_cannot_meet_without_a_server(transport):
    with ControlServer(HERE, 1) as server:
        address = server.address()
        control = ControlClient(address, 0, leave=lambda reason: None)
    with control, pytest.raises(PeerLostError, match=f"{address.place} can't be reached"):
        connect(transport, control, 0, 1, CPU, timeout=1)


def test_a_worker_that_never_reaches_the_others_says_so(monkeypatch):
    """A firewall that drops packets leaves gloo waiting."""

    class Stuck:
        def __init__(self, *given, interruption, **named):
            Lane("stuck", interruption).do(threading.Event().wait)

    monkeypatch.setattr(transports_connect, "TorchGroup", Stuck)
    with (
        ControlServer(HERE, 1) as server,
        ControlClient(server.address(), 0, leave=print) as control,
        pytest.raises(PeerLostError, match=r"weren't reached within 0.05 s, .*; open the ports .* --transport relay"),
    ):
        connect(Transport.GLOO, control, 0, 1, CPU, timeout=0.05)


@pytest.mark.parametrize("ip", ["127.0.0.3", "::1"])
def test_gloo_listens_only_where_the_worker_is_reached(ip):
    """An interface can have addresses of both families, of which other workers may reach only one."""
    with ControlServer(HERE, 1) as server, ControlClient(server.address(), 0, leave=print) as control:
        control.ip, before = ip, own_listeners()
        with closing(connect(Transport.GLOO, control, 0, 1, CPU, timeout=PATIENCE)):
            assert {address for address, _ in own_listeners() - before} == {ip}


def own_listeners():
    """Return the addresses and ports at which this process listens."""
    inodes, found = set(), set()
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            inodes.add(str(path.readlink()).removeprefix("socket:[").removesuffix("]"))
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for row in map(str.split, Path("/proc/net", table).read_text().splitlines()[1:]):
            if row[3] == "0A" and row[9] in inodes:  # it listens
                address, _, port = row[1].partition(":")
                words = [bytes.fromhex(address[start : start + 8])[::-1] for start in range(0, len(address), 8)]
                found.add((socket.inet_ntop(family, b"".join(words)), int(port, 16)))
    return found


def test_nccl_listens_at_the_interface_that_reaches_the_supervisor(monkeypatch):
    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    with ControlServer(HERE, 1) as server, ControlClient(server.address(), 0, leave=print) as control:
        connect(Transport.GLOO, control, 0, 1, CPU, timeout=PATIENCE).close()
        assert os.environ["NCCL_SOCKET_IFNAME"] == f"={loopback}"
        monkeypatch.setenv("NCCL_SOCKET_IFNAME", "eth7")
        connect(Transport.GLOO, control, 0, 1, CPU, timeout=PATIENCE).close()
        assert os.environ["NCCL_SOCKET_IFNAME"] == "eth7"
