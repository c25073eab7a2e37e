"""Measures the seconds to average a model over several hosts, with netdsl's transports and with torch's all_reduce.

The hosts are namespaces of this machine with links of a given bandwidth, so they share its processor. netdsl averages
over gloo, a relay and MPI, all in the order of ranks. torch's all_reduce over gloo adds in its own order. All take
turns in the same processes. The table shows the time of the best round in its slowest process, and its ratio to
torch's. `reported` is the time of the exchange in a run's records, `limit` the time in which the links can carry its
bytes, and `planned` the prediction of `zoo plan`. The relay has no limit here, since it runs on the first host, which
the plan doesn't know.
"""

from __future__ import annotations

import argparse
import json
import math
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
from netdsl.distributed.machines import ExchangeKind
from netdsl.distributed.transports.links import link_over
from netdsl.distributed.transports.relay.communicator import RelayCommunicator
from netdsl.distributed.transports.relay.relay import Relay
from netdsl.distributed.transports.torch_group import TIMEOUT, TorchGroup
from netdsl.distributed.transports.transport import Transport
from netdsl.mpi.communicator import MpiCommunicator
from netdsl.mpi.launcher import share_text
from netdsl.mpi.library import world
from tests.hosts.laboratory import Network, laboratory, why_impossible
from tests.hosts.mpiexec import start_mpiexec

SIZES = (1.7, 28.0, 244.0)  # MB
TRANSPORTS = (Transport.GLOO, Transport.RELAY, Transport.MPI)
_LARGE = 10.0  # MB; smaller buffers get more rounds
_PORT = 29400
_LIMIT = 3600.0  # seconds for all sizes on a number of hosts
_LATENCY = 1e-4  # seconds, as `zoo plan` assumes
_COLUMNS = ("seconds", "/torch", "reported", "limit", "planned")


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
            many = max(rounds, int(rounds * _LARGE / megabytes))  # short exchanges vary more
            measured = measure([*methods, partial(all_reduce, buffer)], many)
            if rank == 0:
                with times.open("a") as file:
                    file.write(json.dumps([megabytes, *measured]) + "\n")


def average(communicator: Communicator, buffer: torch.Tensor) -> float:
    """Average the buffer with netdsl. Returns the seconds of the exchange as a run's records report them."""
    before = communicator.traffic.moved
    communicator.mean(buffer).wait()
    return communicator.traffic.moved - before


def all_reduce(buffer: torch.Tensor) -> float:
    """Average the buffer with torch, which reports no time."""
    dist.all_reduce(buffer.mul_(1 / world().size))
    return 0.0


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


def measure(methods: Sequence[Callable[[], float]], rounds: int) -> list[tuple[float, float]]:
    """Return the seconds of the slowest rank in the best round, and the reported ones, for each method.

    The first round is a warm-up. Ranks wait for each other with torch, since MPI's ranks would compute while they wait,
    and all hosts share this machine's processor.
    """
    table = []
    for _ in range(rounds + 1):
        row = []
        for method in methods:
            dist.barrier()
            start = time.perf_counter()
            reported = method()
            seconds = torch.tensor([time.perf_counter() - start, reported], dtype=torch.float64)
            dist.all_reduce(seconds, dist.ReduceOp.MAX)
            row.append(tuple(seconds.tolist()))
        table.append(row)
    return [min(column) for column in zip(*table[1:], strict=True)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="*", default=[2, 3, 4])
    parser.add_argument("--sizes", type=float, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=5, help="of large buffers; smaller ones get more")
    parser.add_argument("--bandwidth", type=float, default=1e9, help="of each link, in bits per second")
    parser.add_argument("--rank", metavar="ADDRESS", help=argparse.SUPPRESS)
    parser.add_argument("--times", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank is not None:
        run_rank(given.rank, given.times, given.sizes, given.rounds)
        return
    if reason := why_impossible():
        print(reason)
        return
    print(f"{'hosts':>5}{'MB':>8}  {'over':<8}" + "".join(f"{name:>10}" for name in _COLUMNS))
    options = ["--rounds", str(given.rounds), "--sizes", *map(str, given.sizes)]
    for size in given.hosts:
        with laboratory(size, Network(bandwidth=f"{given.bandwidth}bit")) as made:
            first, times = made.hosts[0].address, made.folder / "times"
            program = ["-m", "benchmarks.hosts_averaging", "--rank", first, "--times", str(times), *options]
            started = start_mpiexec(made, [sys.executable, *program], made.folder / "output")
            if started.wait(_LIMIT):
                raise SystemExit(started.text())
            for megabytes, *measured, (whole, _) in map(json.loads, times.read_text().splitlines()):
                for transport, (seconds, reported) in zip(TRANSPORTS, measured, strict=True):
                    bytes_, rate = int(megabytes * 1e6), given.bandwidth / 8
                    planned = link_over(transport, rate, _LATENCY).seconds(ExchangeKind.MEAN, size, bytes_)
                    limit = math.nan if transport is Transport.RELAY else 2 * (size - 1) / size * bytes_ / rate
                    show_row(size, megabytes, transport.value, (seconds, seconds / whole, reported, limit, planned))
                show_row(size, megabytes, "torch", (whole,))


def show_row(hosts: int, megabytes: float, method: str, columns: Sequence[float]) -> None:
    """Print a row of the table."""
    print(f"{hosts:>5}{megabytes:>8g}  {method:<8}" + "".join(f"{value:>10.4f}" for value in columns), flush=True)


if __name__ == "__main__":
    main()
