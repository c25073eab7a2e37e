"""A worker of `benchmarks.spark_rounds`: a Spark task or a process that averages models on request."""

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
from netdsl.distributed.control.address import ControlAddress
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.transports.connect import connect
from netdsl.distributed.transports.shared_memory import SharedMemoryCommunicator
from netdsl.distributed.transports.transport import Transport

TRANSPORTS = (Transport.GLOO, Transport.RELAY)  # the transports of Spark tasks
_PIECE = 4 << 20  # the bytes of a piece for MPI


class AveragingMethod(Protocol):
    """A way to average a model over workers."""

    def barrier(self) -> None:
        """Wait for all other workers."""
        ...

    def average(self, model: Tensor) -> None:
        """Replace a model with the mean of all workers."""
        ...


class CommunicatorMean:
    """Averages with one of netdsl's communicators."""

    def __init__(self, communicator: Communicator) -> None:
        self.barrier = communicator.barrier
        self._communicator = communicator

    def average(self, model: Tensor) -> None:
        """Average with netdsl."""
        self._communicator.mean(model).wait()


class TorchMean:
    """Averages with torch.distributed over gloo."""

    def __init__(self, rank: int, size: int, store: Path) -> None:
        self._size = size
        torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)

    def barrier(self) -> None:
        """Wait for all other workers."""
        torch.distributed.barrier()

    def average(self, model: Tensor) -> None:
        """Average with the usual line of torch code."""
        torch.distributed.all_reduce(model.mul_(1 / self._size))


class MpiMean:
    """Averages with MPI, in pieces that fit into the caches."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self._world, self._in_place = MPI.COMM_WORLD, MPI.IN_PLACE
        self.rank: int = self._world.rank
        self.barrier = self._world.Barrier

    def average(self, model: Tensor) -> None:
        """Average one piece after the other."""
        for piece in torch.split(model.mul_(1 / self._world.size), _PIECE // model.itemsize):
            self._world.Allreduce(self._in_place, piece.numpy())


def follow_orders(port: int, rank: int, methods: Mapping[str, AveragingMethod]) -> None:
    """Follow the conductor's orders until it closes the connection."""
    torch.set_num_threads(1)
    model = torch.empty(0)
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rw") as lines:

        def answer(value: Any) -> None:
            lines.write(f"{json.dumps(value)}\n")
            lines.flush()

        answer([rank, *methods])
        for line in lines:
            order = json.loads(line)
            if isinstance(order, int):
                model = torch.rand(order, generator=torch.Generator().manual_seed(rank))
                answer(None)
            else:
                answer([_timed(methods[order], model), model[-1].item()])


def _timed(method: AveragingMethod, model: Tensor) -> float:
    method.barrier()
    start = time.perf_counter()
    method.average(model)
    return time.perf_counter() - start


def task(control: ControlAddress, size: int, port: int, ranks: Iterable[int]) -> Iterator[None]:
    """Run a worker as a Spark task with several transports."""
    (rank,) = ranks
    with ExitStack() as stack:
        client = stack.enter_context(ControlClient(control, rank))
        methods: dict[str, AveragingMethod] = {}
        for transport in TRANSPORTS:
            communicator = connect(transport, client, rank, size, torch.device("cpu"))
            methods[transport.value] = CommunicatorMean(stack.enter_context(closing(communicator)))
        follow_orders(port, rank, methods)
        for method in methods.values():
            method.barrier()
    yield None


def main() -> None:
    """Run a worker as a process."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind in {"method": str, "rank": int, "size": int, "port": int, "descriptor": int, "folder": Path}.items():
        parser.add_argument(f"--{name}", type=kind)
    arguments = parser.parse_args()
    method, rank = method_of(arguments)
    follow_orders(arguments.port, rank, {arguments.method: method})


def method_of(arguments: argparse.Namespace) -> tuple[AveragingMethod, int]:
    """Return a process's method and its rank. MPI determines the rank itself."""
    if arguments.method == "mpi":
        mpi = MpiMean()
        return mpi, mpi.rank
    if arguments.method == "torch":
        return TorchMean(arguments.rank, arguments.size, arguments.folder / "store"), arguments.rank
    return CommunicatorMean(
        SharedMemoryCommunicator(arguments.descriptor, arguments.rank, arguments.size)
    ), arguments.rank


if __name__ == "__main__":
    main()
