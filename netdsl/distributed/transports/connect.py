"""Connects a worker to the others, through the store at which the workers find each other."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import torch
from torch._C._distributed_c10d import Store

from netdsl.distributed.communicator import Communicator
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.encryption import Endpoint
from netdsl.distributed.control.interfaces import interface_with
from netdsl.distributed.control.peers import GLOO_INTERFACE
from netdsl.distributed.control.protocol import StoreReply, StoreRequest, receive_from_server, send
from netdsl.distributed.interruption import Interruption
from netdsl.distributed.transports import CONNECTIONS
from netdsl.distributed.transports.relay.communicator import RelayCommunicator
from netdsl.distributed.transports.shared_block import attach_memory, create_memory, path_of_memory
from netdsl.distributed.transports.shared_memory import SharedMemoryCommunicator
from netdsl.distributed.transports.torch_group import TIMEOUT, Library, TorchGroup
from netdsl.distributed.transports.transport import OF_MPI, Transport, is_memory_shareable
from netdsl.errors import DistributedError, PeerLostError

_log = logging.getLogger(__name__)

_MEETING = 120.0  # seconds for gloo to connect all workers, which are all there when they begin
_MEMORY = "shared memory"  # the store's key for the path of the memory that the first worker creates
_NCCL_INTERFACE = "NCCL_SOCKET_IFNAME"
Connect = Callable[[Transport, ControlClient, int, int, torch.device], Communicator]


def connect(
    transport: Transport,
    control: ControlClient,
    rank: int,
    size: int,
    device: torch.device,
    timeout: float = TIMEOUT,
) -> Communicator:
    """Return a worker's communicator. All workers must use the same transport."""
    _log.info("worker %d of %d exchanges models over %s, on device %s", rank, size, transport.value, device)
    match transport:
        case Transport.SHARED_MEMORY:
            return _share_memory(control, rank, size)
        case Transport.RELAY:
            return RelayCommunicator(control.open_lane, rank, size, interruption=control.interruption, timeout=timeout)
        case Transport.GLOO | Transport.NCCL:
            _choose_nccl_interface(control.ip)
            with _meeting_within(min(timeout, _MEETING), control.interruption):
                return TorchGroup(
                    ControlStore(control.open_store()),
                    rank,
                    size,
                    library=Library(transport.value),
                    device=device,
                    interruption=control.interruption,
                    timeout=timeout,
                    ip=None if GLOO_INTERFACE in os.environ else control.ip,
                )
    if transport not in OF_MPI:
        return CONNECTIONS[transport.value](control, rank, size, device)
    raise DistributedError(f"the transport {transport.value} only works between ranks of mpiexec; give --backend mpi")


@contextmanager
def _meeting_within(seconds: float, interruption: Interruption) -> Iterator[None]:
    """Interrupt this worker if it doesn't leave the context in time. Otherwise gloo would wait for packets that a
    firewall drops."""
    reason = (
        f"the other workers weren't reached within {seconds:g} s, perhaps because a firewall drops packets between "
        "the machines; open the ports between them, or use --transport relay, which needs only the supervisor's port"
    )
    late = threading.Timer(seconds, interruption.happen, [reason])
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


def _share_memory(control: ControlClient, rank: int, size: int) -> SharedMemoryCommunicator:
    """Create the shared memory in the first worker, and open it in the others through that process."""
    if not is_memory_shareable():
        raise DistributedError("workers can't share memory on a system without /proc; use --transport gloo")
    store = ControlStore(control.open_store())
    if rank == 0:
        descriptor = create_memory(size)
        store.set(_MEMORY, path_of_memory(descriptor))
    else:
        descriptor = attach_memory(store.get(_MEMORY).decode())
    communicator = SharedMemoryCommunicator(descriptor, rank, size, control.interruption)
    communicator.barrier()  # the first worker must stay until the others have opened the memory
    return communicator


def _choose_nccl_interface(ip: str) -> None:
    """Make NCCL listen only at the interface with this address, unless the user has named another one. By default it
    uses any address."""
    name = interface_with(ip)
    if name is not None:
        os.environ.setdefault(_NCCL_INTERFACE, f"={name}")  # NCCL reads a name without = as the beginning of names


class ControlStore(Store):
    """The shared dictionary as one worker sees it. Torch's process groups meet at it."""

    def __init__(self, connection: Endpoint) -> None:
        super().__init__()
        self._connection, self._using = connection, threading.Lock()

    def set(self, key: str, value: bytes | str) -> None:
        """Set a value."""
        self._ask_store(StoreRequest("set", (key,), _as_bytes(value)))

    def get(self, key: str) -> bytes:
        """Return a value, after waiting until it is set."""
        return self._ask_store(StoreRequest("get", (key,))).value

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which starts at 0, and return the sum."""
        return self._ask_store(StoreRequest("add", (key,), amount=amount)).number

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all of these keys have values."""
        return bool(self._ask_store(StoreRequest("check", tuple(keys))).number)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all of these keys have values. The supervisor ends workers that wait too long."""
        self._ask_store(StoreRequest("wait", tuple(keys)))

    def compare_set(self, key: str, expected: bytes | str, desired: bytes | str) -> bytes:
        """Set a value if the current one is as expected. Returns the value that is stored afterwards."""
        return self._ask_store(StoreRequest("compare", (key,), _as_bytes(desired), _as_bytes(expected))).value

    def delete_key(self, key: str) -> bool:
        """Remove a value. Returns whether it existed."""
        return bool(self._ask_store(StoreRequest("delete", (key,))).number)

    def set_timeout(self, timeout: timedelta) -> None:
        """Do nothing, since waiting ends when the connection does."""

    def _ask_store(self, request: StoreRequest) -> StoreReply:
        try:
            with self._using:
                send(self._connection, request)
                reply = receive_from_server(self._connection)
        except OSError as problem:
            raise PeerLostError(f"lost the connection to the control server's store: {problem}") from None
        if not isinstance(reply, StoreReply):
            raise PeerLostError("lost the connection to the control server's store")
        return reply


def _as_bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
