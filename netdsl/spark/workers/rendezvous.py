"""How a worker finds the others: at the driver's store and by the network that leads to the driver, or at its star."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from datetime import timedelta
from functools import partial

from torch._C._distributed_c10d import PrefixStore, TCPStore

from netdsl.distributed.supervision.control_client import connected
from netdsl.distributed.transports.relay.communicator import RelayCommunicator
from netdsl.distributed.transports.torch_group import TorchGroup
from netdsl.distributed.transports.torch_shared_variable import lost
from netdsl.spark.workers.transport import Transport
from netdsl.spark.workers.worker_spec import SparkWorkerSpec

FOREVER = 86400.0  # seconds; who hangs is found by the driver, and who is gone by the connection
_ADDRESS = 0x8915  # SIOCGIFADDR: asks Linux for the address of an interface
_INTERFACE = "GLOO_SOCKET_IFNAME"


def met(place: SparkWorkerSpec, rank: int, address: str, timeout: float = FOREVER) -> TorchGroup | RelayCommunicator:
    """What a generation's workers exchange by. `address` is by which this one reaches the driver."""
    if place.transport is Transport.DRIVER:
        return RelayCommunicator(partial(connected, place, rank), rank, place.size, timeout)
    return _met_peers(place, rank, address, timeout)


def _met_peers(place: SparkWorkerSpec, rank: int, address: str, timeout: float) -> TorchGroup:
    """Peers. Left alone, gloo takes the address that the host's name stands for, which often is of no use to others."""
    name = _interface(address)
    if name is not None:
        os.environ.setdefault(_INTERFACE, name)
    with lost(f"meeting the others at {place.host}:{place.store}"):
        store = TCPStore(place.host, place.store, None, False, timedelta(seconds=timeout), wait_for_workers=False)
    return TorchGroup(PrefixStore(place.token, store), rank, place.size, timeout=timeout)


def _interface(address: str) -> str | None:
    """The network interface that has an address, where the system says so."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            try:
                found = fcntl.ioctl(asked, _ADDRESS, struct.pack("256s", name.encode()[:15]))
            except OSError:  # it has none
                continue
            if socket.inet_ntoa(found[20:24]) == address:
                return name
    return None
