"""How a worker gets its communicator, and the store by which workers find each other."""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta

import torch
from torch._C._distributed_c10d import Store

from netdsl.distributed.communicator import Communicator
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.protocol import StoreReply, StoreRequest, receive_from_server, send
from netdsl.distributed.transports import CONNECTIONS
from netdsl.distributed.transports.relay.communicator import RelayCommunicator
from netdsl.distributed.transports.shared_block import attach_memory, create_memory, path_of_memory
from netdsl.distributed.transports.shared_memory import SharedMemoryCommunicator
from netdsl.distributed.transports.torch_group import TIMEOUT, Library, TorchGroup
from netdsl.distributed.transports.transport import OF_MPI, Transport, is_memory_shareable
from netdsl.errors import DistributedError, PeerLostError

_log = logging.getLogger(__name__)

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
    """Return a worker's communicator; all workers must ask for the same transport."""
    _log.info("worker %d of %d exchanges models over %s, on device %s", rank, size, transport.value, device)
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
    """Return the first worker makes the memory, and the others open it by way of that process."""
    if not is_memory_shareable():
        raise DistributedError("workers can't share memory without /proc; take the transport gloo")
    store = ControlStore(control.open_store())
    if rank == 0:
        descriptor = create_memory(size)
        store.set(_MEMORY, path_of_memory(descriptor))
    else:
        descriptor = attach_memory(store.get(_MEMORY).decode())
    communicator = SharedMemoryCommunicator(descriptor, rank, size, control.interruption)
    communicator.barrier()  # the first worker must not leave before the others have opened it
    return communicator


def _choose_interface(ip: str) -> None:
    """Left alone, gloo takes the address that the host's name stands for, which often is of no use to others."""
    name = _interface_with(ip)
    if name is not None:
        os.environ.setdefault(_GLOO_INTERFACE, name)


def _interface_with(ip: str) -> str | None:
    """Return the network interface that has an address, where the system says so."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe, _ADDRESS_OF_INTERFACE, struct.pack("256s", name.encode()[:15]))
            except OSError:  # it has none
                continue
            if socket.inet_ntoa(answer[20:24]) == ip:
                return name
    return None


class ControlStore(Store):
    """The dictionary as one worker sees it; torch's process groups meet at it."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection, self._using = connection, threading.Lock()

    def set(self, key: str, value: bytes | str) -> None:
        """Set a value."""
        self._ask_store(StoreRequest("set", (key,), _as_bytes(value)))

    def get(self, key: str) -> bytes:
        """Return a value, as soon as it is there."""
        return self._ask_store(StoreRequest("get", (key,))).value

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which begins at 0; returns the sum."""
        return self._ask_store(StoreRequest("add", (key,), amount=amount)).number

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all of these keys have values."""
        return bool(self._ask_store(StoreRequest("check", tuple(keys))).number)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all of these keys have values. Who watches the workers ends what takes too long."""
        self._ask_store(StoreRequest("wait", tuple(keys)))

    def compare_set(self, key: str, expected: bytes | str, desired: bytes | str) -> bytes:
        """Set a value if it is the expected one; returns the value that is there afterwards."""
        return self._ask_store(StoreRequest("compare", (key,), _as_bytes(desired), _as_bytes(expected))).value

    def delete_key(self, key: str) -> bool:
        """Remove a value; returns whether there was one."""
        return bool(self._ask_store(StoreRequest("delete", (key,))).number)

    def set_timeout(self, timeout: timedelta) -> None:
        """Nothing: waiting ends when the connection does."""

    def _ask_store(self, request: StoreRequest) -> StoreReply:
        try:
            with self._using:
                send(self._connection, request)
                reply = receive_from_server(self._connection)
        except OSError as problem:
            raise PeerLostError(f"the store at the control server is gone: {problem}") from None
        if not isinstance(reply, StoreReply):
            raise PeerLostError("the store at the control server is gone")
        return reply


def _as_bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
