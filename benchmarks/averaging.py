"""Measures the seconds to average a model over K processes of this machine: with netdsl, plain shared memory and gloo.

The plain method is a few lines of code: every process copies its model into a slab, averages its share of all slabs,
and copies the whole mean out. All three take turns in the same processes. The table shows medians of the slowest
process of each round.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.distributed

from benchmarks.processes import connected, measure, run_processes
from netdsl.distributed.transports.shared_memory import SharedMemoryCommunicator

SIZES = (1.7, 7.0, 83.0, 240.0, 550.0)  # MB
METHODS = ("ours", "plain", "gloo")


class SharedSlabs:
    """The plain method: copy in, average a share, and copy out, with barriers in between."""

    def __init__(self, path: Path, communicator: SharedMemoryCommunicator, count: int) -> None:
        self.communicator, self.rank = communicator, communicator.rank
        self.slabs = torch.from_numpy(np.memmap(path, np.float32, "r+", shape=(communicator.size, count)))
        share = -(-count // communicator.size)
        self.share = slice(self.rank * share, (self.rank + 1) * share)

    def mean(self, buffer: torch.Tensor) -> None:
        """Replace the buffer with the mean of all processes."""
        self.slabs[self.rank].copy_(buffer)
        self.communicator.barrier()
        torch.mean(self.slabs[:, self.share], 0, out=self.slabs[0, self.share])
        self.communicator.barrier()
        buffer.copy_(self.slabs[0])
        self.communicator.barrier()


def run_worker(rank: int, size: int, descriptor: int, folder: Path, sizes: Sequence[float], rounds: int) -> None:
    """Run one process. The first process prints a line for every size."""
    torch.set_num_threads(1)
    with connected(descriptor, rank, size, folder) as communicator:
        for megabytes in sizes:
            medians = compare(communicator, int(megabytes * 1e6) // 4, folder / "slabs", rounds)
            if rank == 0:
                print(json.dumps([megabytes, *medians]), flush=True)


def compare(communicator: SharedMemoryCommunicator, count: int, path: Path, rounds: int) -> list[float]:
    """Return the median seconds of each method to average a number of values."""
    buffer = torch.rand(count, generator=torch.Generator().manual_seed(communicator.rank))
    if communicator.rank == 0:
        path.write_bytes(b"")
        os.truncate(path, communicator.size * count * 4)
    communicator.barrier()
    plain = SharedSlabs(path, communicator, count)
    methods = (
        lambda: communicator.mean(buffer).wait(),
        lambda: plain.mean(buffer),
        lambda: torch.distributed.all_reduce(buffer.mul_(1 / communicator.size)),
    )
    return measure(communicator, methods, rounds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--sizes", type=float, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--descriptor", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rank is not None:
        run_worker(
            arguments.rank,
            arguments.workers[0],
            arguments.descriptor,
            arguments.folder,
            arguments.sizes,
            arguments.rounds,
        )
        return
    print(
        f"{'K':>2}{'MB':>8}" + "".join(f"{method:>10}" for method in METHODS) + f"{'ours/plain':>12}{'ours/gloo':>11}"
    )
    for size in arguments.workers:
        options = ["--rounds", str(arguments.rounds), "--sizes", *map(str, arguments.sizes), "--workers", str(size)]
        for megabytes, *seconds in run_processes("benchmarks.averaging", size, options, parent="/dev/shm"):
            ours, plain, gloo = seconds
            times = "".join(f"{value:>10.5f}" for value in seconds)
            print(f"{size:>2}{megabytes:>8g}{times}{ours / plain:>12.2f}{ours / gloo:>11.2f}", flush=True)


if __name__ == "__main__":
    main()
