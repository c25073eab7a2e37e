"""Measures the seconds to average a model over K MPI ranks on this machine: with netdsl and with MPI's Allreduce.

MPI's reduction adds in its own order. It runs in one call, or in pieces of 4 MB, which stay in the cache. netdsl adds
in the order of ranks, so the result has the same bits as every other transport's. All take turns in the same ranks. The
table shows medians of the slowest rank of each round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch

from netdsl.distributed.transports.weighted_mean import Array
from netdsl.mpi.communicator import MpiCommunicator
from netdsl.mpi.installation import SETTINGS, mpiexec
from netdsl.mpi.library import mpi, pieces, world

SIZES = (1.7, 7.0, 83.0, 240.0, 550.0)  # MB
# A round below this many MB takes only a moment, so there are this many times more rounds.
SMALL, MORE_ROUNDS = 20.0, 10
METHODS = ("ours", "pieces", "one call")


def run_rank(sizes: Sequence[float], rounds: int) -> None:
    """Run one rank. The first rank prints a line for every size."""
    torch.set_num_threads(1)
    communicator = MpiCommunicator(world())
    for megabytes in sizes:
        buffer = torch.rand(int(megabytes * 1e6) // 4, generator=torch.Generator().manual_seed(communicator.rank))
        whole = buffer.numpy()
        methods = (
            partial(average, communicator, buffer),
            partial(reduce, list(pieces(whole))),
            partial(reduce, [whole]),
        )
        medians = measure(methods, rounds * MORE_ROUNDS if megabytes < SMALL else rounds)
        if communicator.rank == 0:
            print(json.dumps([megabytes, *medians]), flush=True)
    communicator.close()


def average(communicator: MpiCommunicator, buffer: torch.Tensor) -> None:
    """Average the buffer with netdsl."""
    communicator.mean(buffer).wait()


def reduce(parts: Sequence[Array]) -> None:
    """Average the parts with MPI, with one call for each part."""
    for part in parts:
        world().Allreduce(mpi().IN_PLACE, part)
        part /= world().size


def measure(methods: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the median seconds of the slowest rank for each method. Every round begins with another method."""
    found: list[list[float]] = [[] for _ in methods]
    for turn in range(rounds + len(methods)):
        for number in range(len(methods)):
            chosen = (turn + number) % len(methods)
            world().Barrier()
            start = time.perf_counter()
            methods[chosen]()
            found[chosen].append(max(world().allgather(time.perf_counter() - start)))
    return [statistics.median(times[len(methods) :]) for times in found]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--sizes", type=float, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank:
        run_rank(given.sizes, given.rounds)
        return
    print(f"{'K':>2}{'MB':>8}" + "".join(f"{method:>10}" for method in METHODS) + f"{'ours/pieces':>13}")
    for size in given.workers:
        options = ["--rank", "--rounds", str(given.rounds), "--sizes", *map(str, given.sizes)]
        command = [mpiexec(), "-n", str(size), sys.executable, "-m", "benchmarks.mpi_averaging", *options]
        done = subprocess.run(command, env={**SETTINGS, **os.environ}, stdout=subprocess.PIPE, text=True, check=True)
        for megabytes, *seconds in map(json.loads, done.stdout.splitlines()):
            times = "".join(f"{value:>10.5f}" for value in seconds)
            print(f"{size:>2}{megabytes:>8g}{times}{seconds[0] / seconds[1]:>13.2f}", flush=True)


if __name__ == "__main__":
    main()
