"""A worker of `benchmarks.spark_rounds`: a Spark task or a process that averages models on command."""

from __future__ import annotations

import argparse
import json
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

import torch
import torch.distributed
from netdsl.spark.workers.rendezvous import met
from netdsl.spark.workers.worker_spec import SparkWorkerSpec
from torch import Tensor

from netdsl.distributed.communicator import Communicator
from netdsl.distributed.supervision.control_client import ControlClient
from netdsl.distributed.transports.shared_memory.communicator import SharedMemory

_PIECE_BYTES = 4 << 20  # that MPI reduces at once


class AveragingMethod(Protocol):
    """A method of averaging."""

    def barrier(self) -> None:
        """Wait for all workers."""
        ...

    def average(self, model: Tensor) -> None:
        """Replace a model by the mean of all workers."""
        ...


class CommunicatorMethod:
    """Averaging by netdsl's communicator."""

    def __init__(self, communicator: Communicator) -> None:
        self.barrier = communicator.barrier
        self._communicator = communicator

    def average(self, model: Tensor) -> None:
        """Replace a model by the mean of all workers."""
        self._communicator.mean(model).wait()


class GlooMethod:
    """Averaging by torch.distributed over gloo."""

    def __init__(self, rank: int, size: int, store: Path) -> None:
        self._size = size
        torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)

    def barrier(self) -> None:
        """Wait for all workers."""
        torch.distributed.barrier()

    def average(self, model: Tensor) -> None:
        """Replace a model by the mean of all workers."""
        torch.distributed.all_reduce(model.mul_(1 / self._size))


class MpiMethod:
    """Averaging by MPI, in pieces because it copies them."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self._world, self._in_place = MPI.COMM_WORLD, MPI.IN_PLACE
        self.rank: int = self._world.rank
        self.barrier = self._world.Barrier

    def average(self, model: Tensor) -> None:
        """Replace a model by the mean of all workers, piece by piece."""
        for piece in torch.split(model.mul_(1 / self._world.size), _PIECE_BYTES // model.itemsize):
            self._world.Allreduce(self._in_place, piece.numpy())


def run_commands(port: int, rank: int, methods: Mapping[str, AveragingMethod]) -> None:
    """Execute the controller's commands until it disconnects."""
    torch.set_num_threads(1)
    model = torch.empty(0)
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rw") as lines:

        def answer(reply: Any) -> None:
            lines.write(f"{json.dumps(reply)}\n")
            lines.flush()

        answer([rank, *methods])
        for line in lines:
            command = json.loads(line)
            if isinstance(command, int):
                model = torch.rand(command, generator=torch.Generator().manual_seed(rank))
                answer(None)
            else:
                answer([_time_round(methods[command], model), model[-1].item()])


def _time_round(method: AveragingMethod, model: Tensor) -> float:
    method.barrier()
    start = time.perf_counter()
    method.average(model)
    return time.perf_counter() - start


def spark_task(specs: Sequence[str], port: int, ranks: Iterable[int]) -> Iterator[None]:
    """A worker in a Spark task, with both transports."""
    (rank,) = ranks
    with ExitStack() as stack:
        methods: dict[str, AveragingMethod] = {}
        for spec in map(SparkWorkerSpec.of, specs):
            client = stack.enter_context(ControlClient(spec, rank))
            methods[spec.transport.value] = CommunicatorMethod(
                stack.enter_context(closing(met(spec, rank, client.address)))
            )
        run_commands(port, rank, methods)
        for method in methods.values():
            method.barrier()
    yield None


def main() -> None:
    """Run a worker in a process."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind in {"method": str, "rank": int, "size": int, "port": int, "descriptor": int, "folder": Path}.items():
        parser.add_argument(f"--{name}", type=kind)
    arguments = parser.parse_args()
    method, rank = open_method(arguments)
    run_commands(arguments.port, rank, {arguments.method: method})


def open_method(arguments: argparse.Namespace) -> tuple[AveragingMethod, int]:
    """The method of a worker and its rank, which MPI determines itself."""
    if arguments.method == "mpi":
        mpi = MpiMethod()
        return mpi, mpi.rank
    if arguments.method == "gloo":
        return GlooMethod(arguments.rank, arguments.size, arguments.folder / "store"), arguments.rank
    return CommunicatorMethod(SharedMemory(arguments.descriptor, arguments.rank, arguments.size)), arguments.rank


if __name__ == "__main__":
    main()
