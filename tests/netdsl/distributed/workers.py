"""Workers that are threads, each with its own memory or connections: shared memory, a relay, gloo, or a simulation."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from netdsl.distributed.interruption import Interruption
from netdsl.distributed.machines import Link
from netdsl.distributed.transports.relay.communicator import RelayCommunicator
from netdsl.distributed.transports.relay.relay import Relay
from netdsl.distributed.transports.shared_block import create_memory
from netdsl.distributed.transports.shared_memory import SharedMemoryCommunicator
from netdsl.distributed.transports.torch_group import TorchGroup
from netdsl.simulator.communicator import Network, SimulatedCommunicator
from netdsl.simulator.world import World

TIMEOUT = 30.0

Task = Callable[[Any], Any]  # receives a communicator
Together = Callable[..., list[Any]]  # runs a task as every worker, and returns the results


def own(rank: int, length: int = 5_003, kind: torch.dtype = torch.float32) -> Tensor:
    """Return a worker's values."""
    values = torch.randn(length, generator=torch.Generator().manual_seed(rank), dtype=torch.float64)
    return (values * 1000).to(kind)


def in_shared_memory(size: int, task: Task, interruptions: list[Interruption] | None = None) -> list[Any]:
    """Run workers that share memory."""
    descriptor = create_memory(size)
    events = interruptions or [Interruption() for _ in range(size)]

    def one(rank: int) -> Any:
        with closing(SharedMemoryCommunicator(os.dup(descriptor), rank, size, events[rank])) as communicator:
            return task(communicator)

    try:
        return _threads(size, one)
    finally:
        os.close(descriptor)


def around_a_relay(size: int, task: Task, **settings: Any) -> list[Any]:
    """Run workers with connections to a relay. No worker leaves before the others."""
    with closing(RelayHarness(size, **settings)) as harness:

        def one(rank: int) -> Any:
            with closing(harness.worker(rank)) as communicator:
                result = task(communicator)
                communicator.barrier()
                return result

        return _threads(size, one)


def over_gloo(size: int, task: Task, timeout: float = TIMEOUT) -> list[Any]:
    """Run workers with connections to each other. No worker leaves before the others."""
    store = dist.HashStore()

    def one(rank: int) -> Any:
        with closing(TorchGroup(store, rank, size, timeout=timeout)) as group:
            return task(group)

    return _threads(size, one)


def simulated(size: int, task: Task) -> list[Any]:
    """Run workers of a simulated world."""
    world = World(size)
    network = Network(world, Link())
    return world.run(lambda rank: task(SimulatedCommunicator(network, rank)))


def _threads(size: int, one: Callable[[int], Any]) -> list[Any]:
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))


class RelayHarness:
    """A relay behind a port."""

    def __init__(self, size: int, timeout: float = TIMEOUT, room: int = 0) -> None:
        self.relay, self.size, self.timeout, self._room = Relay(size, timeout), size, timeout, room
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._narrow(self._listener)
        self._one_at_a_time = threading.Lock()

    def connection(self) -> tuple[socket.socket, socket.socket]:
        """Return both ends of a connection."""
        with self._one_at_a_time:
            connection = socket.socket()
            self._narrow(connection)
            connection.connect(self._listener.getsockname())
            return connection, self._listener.accept()[0]

    def connect(self, rank: int) -> Callable[[int], socket.socket]:
        """Return the function by which a worker gets its connections."""

        def connect_lane(lane: int) -> socket.socket:
            near, far = self.connection()
            self.relay.adopt(far, rank, lane)
            return near

        return connect_lane

    def worker(self, rank: int) -> RelayCommunicator:
        return RelayCommunicator(self.connect(rank), rank, self.size, timeout=self.timeout)

    def close(self) -> None:
        self.relay.close()
        self._listener.close()

    def _narrow(self, connection: socket.socket) -> None:
        """Reduce the buffers, so that the system accepts only a few thousand bytes at once."""
        if self._room:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._room)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._room)
