"""Runs processes of one machine that measure together, and reports the time of the slowest."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch.distributed

from netdsl.distributed.transports.shared_block import create_memory
from netdsl.distributed.transports.shared_memory import SharedMemoryCommunicator


def run_processes(module: str, size: int, options: Sequence[str], *, parent: str | None = None) -> list[list[float]]:
    """Run a module in a number of processes and return the lines that the first one prints.

    The processes share a folder in `parent`.
    """
    descriptor = create_memory(size)
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        command = [sys.executable, "-m", module, "--descriptor", str(descriptor), "--folder", folder, *options]
        processes = [
            subprocess.Popen(
                [*command, "--rank", str(rank)],
                pass_fds=[descriptor],
                stdout=subprocess.DEVNULL if rank else subprocess.PIPE,
                text=True,
            )
            for rank in range(size)
        ]
        printed = processes[0].communicate()[0]
        if any(process.wait() for process in processes):
            raise SystemExit("a process failed; see its error above")
    os.close(descriptor)
    return [json.loads(line) for line in printed.splitlines()]


@contextmanager
def connected(descriptor: int, rank: int, size: int, folder: Path) -> Iterator[SharedMemoryCommunicator]:
    """Provide a communicator in shared memory, with torch's gloo as the default process group."""
    communicator = SharedMemoryCommunicator(descriptor, rank, size)
    store = torch.distributed.FileStore(str(folder / "store"), size)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=size)
    yield communicator
    torch.distributed.destroy_process_group()


def measure(
    communicator: SharedMemoryCommunicator, methods: Sequence[Callable[[], object]], rounds: int
) -> list[float]:
    """Return the median seconds of the slowest process for each method. The first round is a warm-up."""
    table = []
    for _ in range(rounds + 1):
        row = []
        for method in methods:
            communicator.barrier()
            start = time.perf_counter()
            method()
            row.append(time.perf_counter() - start)
        table.append([max(column) for column in zip(*communicator.gather(row), strict=True)])
    return [statistics.median(column) for column in zip(*table[1:], strict=True)]
