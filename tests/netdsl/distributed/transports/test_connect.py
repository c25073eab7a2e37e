"""Workers find each other at the control server and exchange values."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import torch

from netdsl.distributed.control.client import ControlAddress, ControlClient
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.transports.connect import connect
from netdsl.distributed.transports.relay.relay import Relay
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import PeerLostError
from tests.patience import PATIENCE

HERE, CPU = "127.0.0.1", torch.device("cpu")
WITHOUT_GPUS = [Transport.SHARED_MEMORY, Transport.GLOO, Transport.RELAY]


@pytest.fixture(autouse=True)
def no_interface(monkeypatch):
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)


@pytest.mark.parametrize("transport", WITHOUT_GPUS)
def test_workers_meet_and_exchange(transport):
    def work(rank):
        with (
            ControlClient(address, rank) as control,
            closing(connect(transport, control, rank, 2, CPU, timeout=PATIENCE)) as communicator,
        ):
            buffer = torch.tensor([3.0, 4.0 + rank, 5.0])
            communicator.mean(buffer).wait()
            communicator.barrier()
            return buffer.tolist()

    with (
        closing(Relay(2, 30)) as relay,
        ControlServer(HERE, 2, adopt=relay.adopt) as server,
        ThreadPoolExecutor(2) as pool,
    ):
        address = ControlAddress(HERE, server.port, server.token)
        assert list(pool.map(work, range(2))) == [[3.0, 4.5, 5.0]] * 2


@pytest.mark.parametrize("transport", WITHOUT_GPUS)
def test_workers_cannot_meet_without_a_server(transport):
    with ControlServer(HERE, 1) as server:
        control = ControlClient(ControlAddress(HERE, server.port, server.token), 0, leave=lambda reason: None)
    with control, pytest.raises(PeerLostError, match=rf"127\.0\.0\.1:{server.port} can't be reached"):
        connect(transport, control, 0, 1, CPU, timeout=1)
