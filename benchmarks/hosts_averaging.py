"""Measures the seconds to average a model over several hosts, with netdsl's transports and with torch's all_reduce.

The hosts are namespaces of this machine with links of a given bandwidth, so they share its processor. netdsl averages
over gloo, a relay and MPI, all in the order of ranks. torch's all_reduce over gloo adds in its own order. All take
turns in the same processes. The table shows the time of the best round in its slowest process, and ratios to torch's.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import msgspec
import torch
from torch import distributed as dist

from netdsl.distributed.communicator import Communicator
from netdsl.distributed.control.address import ControlAddress
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.place import NetworkPlace
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.transports.relay.communicator import RelayCommunicator
from netdsl.distributed.transports.relay.relay import Relay
from netdsl.distributed.transports.torch_group import TIMEOUT, TorchGroup
from netdsl.mpi.communicator import MpiCommunicator
from netdsl.mpi.launcher import share_text
from netdsl.mpi.library import world
from tests.hosts.laboratory import Network, laboratory, why_impossible
from tests.hosts.mpiexec import start_mpiexec

SIZES = (1.7, 28.0, 244.0)  # MB
METHODS = ("gloo", "relay", "mpi", "torch")
_PORT = 29400
_LIMIT = 3600.0  # seconds for all sizes on a number of hosts


def run_rank(address: str, times: Path, sizes: Sequence[float], rounds: int) -> None:
    """Run one rank. The first rank, which has the address, writes a line for every size."""
    torch.set_num_threads(1)
    rank, size = world().rank, world().size
    with ExitStack() as stack:
        store = dist.TCPStore(address, _PORT, size, is_master=rank == 0)
        communicators = (
            stack.enter_context(closing(TorchGroup(dist.PrefixStore("netdsl", store), rank, size))),
            stack.enter_context(_relayed(address, rank, size)),
            stack.enter_context(closing(MpiCommunicator(world()))),
        )
        dist.init_process_group("gloo", store=dist.PrefixStore("torch", store), rank=rank, world_size=size)
        stack.callback(dist.destroy_process_group)
        for megabytes in sizes:
            buffer = torch.rand(int(megabytes * 1e6) // 4, generator=torch.Generator().manual_seed(rank))
            methods = [partial(average, communicator, buffer) for communicator in communicators]
            seconds = measure([*methods, partial(all_reduce, buffer)], rounds)
            if rank == 0:
                with times.open("a") as file:
                    file.write(json.dumps([megabytes, *seconds]) + "\n")


def average(communicator: Communicator, buffer: torch.Tensor) -> None:
    """Average the buffer with netdsl."""
    communicator.mean(buffer).wait()


def all_reduce(buffer: torch.Tensor) -> None:
    """Average the buffer with torch."""
    dist.all_reduce(buffer.mul_(1 / world().size))


@contextmanager
def _relayed(address: str, rank: int, size: int) -> Iterator[RelayCommunicator]:
    """Provide a communicator over a relay in the first rank, with encrypted connections."""
    with ExitStack() as stack:
        text = None
        if rank == 0:
            relay = stack.enter_context(closing(Relay(size, TIMEOUT)))
            server = stack.enter_context(ControlServer(NetworkPlace.at(address), size, relay.adopt))
            text = msgspec.json.encode(server.address()).decode()
        place = msgspec.json.decode(share_text(text), type=ControlAddress)
        control = stack.enter_context(ControlClient(place, rank, leave=lambda reason: None))
        yield stack.enter_context(closing(RelayCommunicator(control.open_lane, rank, size, timeout=TIMEOUT)))
        world().Barrier()


def measure(methods: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the least seconds of the slowest rank for each method. The first round is a warm-up."""
    table = []
    for _ in range(rounds + 1):
        row = []
        for method in methods:
            world().Barrier()
            start = time.perf_counter()
            method()
            row.append(max(world().allgather(time.perf_counter() - start)))
        table.append(row)
    return [min(column) for column in zip(*table[1:], strict=True)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="*", default=[2, 3, 4])
    parser.add_argument("--sizes", type=float, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bandwidth", default="1gbit", help="of each link, as tc writes it")
    parser.add_argument("--rank", metavar="ADDRESS", help=argparse.SUPPRESS)
    parser.add_argument("--times", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank is not None:
        run_rank(given.rank, given.times, given.sizes, given.rounds)
        return
    if reason := why_impossible():
        print(reason)
        return
    ratios = "".join(f"{f'{method}/torch':>13}" for method in METHODS[:-1])
    print(f"{'hosts':>5}{'MB':>8}" + "".join(f"{method:>10}" for method in METHODS) + ratios)
    options = ["--rounds", str(given.rounds), "--sizes", *map(str, given.sizes)]
    for size in given.hosts:
        with laboratory(size, Network(bandwidth=given.bandwidth)) as made:
            first, times = made.hosts[0].address, made.folder / "times"
            program = ["-m", "benchmarks.hosts_averaging", "--rank", first, "--times", str(times), *options]
            started = start_mpiexec(made, [sys.executable, *program], made.folder / "output")
            if started.wait(_LIMIT):
                raise SystemExit(started.text())
            for megabytes, *seconds in map(json.loads, times.read_text().splitlines()):
                columns = "".join(f"{value:>10.4f}" for value in seconds)
                compared = "".join(f"{value / seconds[-1]:>13.2f}" for value in seconds[:-1])
                print(f"{size:>5}{megabytes:>8g}{columns}{compared}", flush=True)


if __name__ == "__main__":
    main()
