"""A worker of `benchmarks.spark_rounds`: a task of Spark's or a process, which averages models when it is told to."""

from __future__ import annotations

import argparse
import json
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

import torch
import torch.distributed
from torch import Tensor

from netdsl.distributed.communicator import Communicator
from netdsl.distributed.control.client import ControlAddress, ControlClient
from netdsl.distributed.transports.connect import connect
from netdsl.distributed.transports.shared_memory import SharedMemoryCommunicator
from netdsl.distributed.transports.transport import Transport

TRANSPORTS = (Transport.GLOO, Transport.RELAY)  # of the tasks
_PIECE = 4 << 20  # bytes that MPI gets at once


class Way(Protocol):
    """How a worker averages."""

    def barrier(self) -> None:
        """Wait for all others."""
        ...

    def average(self, model: Tensor) -> None:
        """Replace a model by everybody's mean."""
        ...


class CommunicatorMean:
    """With a communicator."""

    def __init__(self, communicator: Communicator) -> None:
        self.barrier = communicator.barrier
        self._communicator = communicator

    def average(self, model: Tensor) -> None:
        """Our mean."""
        self._communicator.mean(model).wait()


class Torch:
    """With torch.distributed, over gloo."""

    def __init__(self, rank: int, size: int, store: Path) -> None:
        self._size = size
        torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)

    def barrier(self) -> None:
        """Torch's."""
        torch.distributed.barrier()

    def average(self, model: Tensor) -> None:
        """What one writes in a line."""
        torch.distributed.all_reduce(model.mul_(1 / self._size))


class Mpi:
    """With MPI, in pieces of which it has copies."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self._world, self._in_place = MPI.COMM_WORLD, MPI.IN_PLACE
        self.rank: int = self._world.rank
        self.barrier = self._world.Barrier

    def average(self, model: Tensor) -> None:
        """One piece after the other."""
        for piece in torch.split(model.mul_(1 / self._world.size), _PIECE // model.itemsize):
            self._world.Allreduce(self._in_place, piece.numpy())


def obey(port: int, rank: int, ways: Mapping[str, Way]) -> None:
    """Do as a worker what the conductor says, until it says no more."""
    torch.set_num_threads(1)
    model = torch.empty(0)
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rw") as lines:

        def answer(said: Any) -> None:
            lines.write(f"{json.dumps(said)}\n")
            lines.flush()

        answer([rank, *ways])
        for line in lines:
            order = json.loads(line)
            if isinstance(order, int):
                model = torch.rand(order, generator=torch.Generator().manual_seed(rank))
                answer(None)
            else:
                answer([_timed(ways[order], model), model[-1].item()])


def _timed(way: Way, model: Tensor) -> float:
    way.barrier()
    start = time.perf_counter()
    way.average(model)
    return time.perf_counter() - start


def task(control: ControlAddress, size: int, port: int, ranks: Iterable[int]) -> Iterator[None]:
    """Yield a worker that is a task of Spark's, and has several transports."""
    (rank,) = ranks
    with ExitStack() as stack:
        client = stack.enter_context(ControlClient(control, rank))
        ways: dict[str, Way] = {}
        for transport in TRANSPORTS:
            communicator = connect(transport, client, rank, size, torch.device("cpu"))
            ways[transport.value] = CommunicatorMean(stack.enter_context(closing(communicator)))
        obey(port, rank, ways)
        for way in ways.values():
            way.barrier()
    yield None


def main() -> None:
    """Be a worker that is a process."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind in {"way": str, "rank": int, "size": int, "port": int, "descriptor": int, "folder": Path}.items():
        parser.add_argument(f"--{name}", type=kind)
    arguments = parser.parse_args()
    way, rank = way_of(arguments)
    obey(arguments.port, rank, {arguments.way: way})


def way_of(arguments: argparse.Namespace) -> tuple[Way, int]:
    """Return how a process averages, and its rank, which MPI knows itself."""
    if arguments.way == "mpi":
        mpi = Mpi()
        return mpi, mpi.rank
    if arguments.way == "torch":
        return Torch(arguments.rank, arguments.size, arguments.folder / "store"), arguments.rank
    return CommunicatorMean(
        SharedMemoryCommunicator(arguments.descriptor, arguments.rank, arguments.size)
    ), arguments.rank


if __name__ == "__main__":
    main()
