"""How a worker gets its communicator."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Callable

import torch

from netdsl.distributed.communicator import Communicator
from netdsl.distributed.supervision.control_client import ControlClient
from netdsl.distributed.transports import CONNECTIONS
from netdsl.distributed.transports.control_store import ControlStore
from netdsl.distributed.transports.relay.communicator import RelayCommunicator
from netdsl.distributed.transports.shared_memory import memory
from netdsl.distributed.transports.shared_memory.communicator import SharedMemoryCommunicator
from netdsl.distributed.transports.torch_group import TIMEOUT, Library, TorchGroup
from netdsl.distributed.transports.transport import OF_MPI, Transport, is_memory_shareable
from netdsl.errors import DistributedError

_MEMORY = "shared memory"  # the store's key for the path of the memory that the first worker made
_ADDRESS_OF_INTERFACE = 0x8915  # SIOCGIFADDR, which asks Linux for the address of an interface
_GLOO_INTERFACE = "GLOO_SOCKET_IFNAME"

Connect = Callable[[Transport, ControlClient, int, int, torch.device], Communicator]


def connect(
    transport: Transport,
    control: ControlClient,
    rank: int,
    size: int,
    device: torch.device,
    timeout: float = TIMEOUT,
) -> Communicator:
    """A worker's communicator; all workers must ask for the same transport."""
    match transport:
        case Transport.SHARED_MEMORY:
            return _share_memory(control, rank, size)
        case Transport.RELAY:
            return RelayCommunicator(control.open_lane, rank, size, interruption=control.interruption, timeout=timeout)
        case Transport.GLOO | Transport.NCCL:
            _choose_interface(control.ip)
            return TorchGroup(
                ControlStore(control.open_store()),
                rank,
                size,
                library=Library(transport.value),
                device=device,
                interruption=control.interruption,
                timeout=timeout,
            )
    if transport not in OF_MPI:
        return CONNECTIONS[transport.value](control, rank, size, device)
    raise DistributedError(f"the transport {transport.value} is between ranks of mpiexec; give --backend mpi")


def _share_memory(control: ControlClient, rank: int, size: int) -> SharedMemoryCommunicator:
    """The first worker makes the memory, and the others open it by way of that process."""
    if not is_memory_shareable():
        raise DistributedError("workers can't share memory without /proc; take the transport gloo")
    store = ControlStore(control.open_store())
    if rank == 0:
        descriptor = memory.create(size)
        store.set(_MEMORY, memory.path_of(descriptor))
    else:
        descriptor = memory.attach(store.get(_MEMORY).decode())
    communicator = SharedMemoryCommunicator(descriptor, rank, size, control.interruption)
    communicator.barrier()  # the first worker must not leave before the others have opened it
    return communicator


def _choose_interface(ip: str) -> None:
    """Left alone, gloo takes the address that the host's name stands for, which often is of no use to others."""
    name = _interface_with(ip)
    if name is not None:
        os.environ.setdefault(_GLOO_INTERFACE, name)


def _interface_with(ip: str) -> str | None:
    """The network interface that has an address, where the system says so."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe, _ADDRESS_OF_INTERFACE, struct.pack("256s", name.encode()[:15]))
            except OSError:  # it has none
                continue
            if socket.inet_ntoa(answer[20:24]) == ip:
                return name
    return None
