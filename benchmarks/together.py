"""Two workers beside torch's own ways to train together: DistributedDataParallel and post-local SGD, in one run.

Both train the same modules on the same data. A step of AllReduce is timed in turn with one of DDP over gloo and torch's
optimiser; a round's exchange of model averaging, with one of torch's averager over gloo.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.nn.parallel import DistributedDataParallel

from benchmarks.nets import PAIRS, Pair
from benchmarks.training import DECAY, MOMENTUM, RATE, train_val
from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.distributed.transports.shared_memory.communicator import SharedMemoryCommunicator
from netdsl.distributed.transports.shared_memory.memory import create
from netdsl.distributed.worker import Worker
from netdsl.solver.module_net import ModuleNet
from netdsl.solver.solver import Solver

WORKERS = 2
USUAL = ("LeNet", "CaffeNet", "GoogLeNet")


class Trained:
    """A net in one of the processes, trained both ways."""

    def __init__(self, pair: Pair, communicator: SharedMemoryCommunicator) -> None:
        batch = pair.training_batch // WORKERS
        random = torch.Generator().manual_seed(communicator.rank)
        data = torch.randn(batch, *pair.image, generator=random)
        self.given = {"data": data, "label": torch.randint(10, (batch,), generator=random)}
        param = pb.SolverParameter(
            base_lr=RATE, lr_policy="fixed", momentum=MOMENTUM, weight_decay=DECAY, max_iter=1 << 30
        )
        self.solver, theirs = Solver(param, self._net(pair, batch)), self._net(pair, batch)
        self.worker = Worker(self.solver, communicator)
        AllReduce().begin(self.worker)
        self.parameters = list(theirs.module.parameters())
        self.parallel = DistributedDataParallel(theirs.module)
        self.optimizer = torch.optim.SGD(self.parameters, RATE, MOMENTUM, weight_decay=DECAY)
        with warnings.catch_warnings(action="ignore"):  # who averages after every step should use DDP
            self.averager = PeriodicModelAverager(period=1)

    def _net(self, pair: Pair, batch: int) -> ModuleNet:
        net = train_val(pair.params(batch), batch)
        net.state.phase = pb.TRAIN
        return ModuleNet(net, values=itertools.repeat(self.given))

    def ours(self) -> None:
        """A step whose gradients are averaged."""
        self.worker.iterate()

    def theirs(self) -> None:
        """The same with torch's."""
        self.optimizer.zero_grad()
        self.parallel(**self.given)["loss"].backward()
        self.optimizer.step()

    def our_round(self) -> None:
        """What model averaging does between two times of training."""
        self.worker.take_mean()

    def their_round(self) -> None:
        """What post-local SGD does."""
        self.averager.average_parameters(iter(self.parameters))


def measure(communicator: SharedMemoryCommunicator, ways: tuple[Callable[[], None], ...], rounds: int) -> list[float]:
    """Median seconds of the slower process, in turn; one round before all is for warming up."""
    table = []
    for _ in range(rounds + 1):
        row = []
        for way in ways:
            communicator.barrier()
            start = time.perf_counter()
            way()
            row.append(time.perf_counter() - start)
        table.append([max(column) for column in zip(*communicator.gather(row), strict=True)])
    return [statistics.median(column) for column in zip(*table[1:], strict=True)]


def work(rank: int, descriptor: int, folder: Path, rounds: int, nets: list[str]) -> None:
    """One process's part; the first one prints what was measured."""
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // WORKERS))
    torch.manual_seed(0)
    communicator = SharedMemoryCommunicator(descriptor, rank, WORKERS)
    store = torch.distributed.FileStore(str(folder / "store"), WORKERS)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=WORKERS)
    for pair in PAIRS:
        if pair.name in nets:
            trained = Trained(pair, communicator)
            ways = (trained.ours, trained.theirs, trained.our_round, trained.their_round)
            found = measure(communicator, ways, rounds)
            if rank == 0:
                size = sum(each.numel() for each in trained.parameters) * 4e-6
                print(json.dumps([pair.name, size, *found]), flush=True)
    torch.distributed.destroy_process_group()


def start(rounds: int, nets: list[str]) -> list[list[float]]:
    """Run the processes, and give what the first one printed."""
    descriptor = create(WORKERS)
    with tempfile.TemporaryDirectory() as folder:
        given = ["--descriptor", str(descriptor), "--folder", folder, "--rounds", str(rounds), *nets]
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.together", "--rank", str(rank), *given],
                pass_fds=[descriptor],
                stdout=subprocess.DEVNULL if rank else subprocess.PIPE,
                text=True,
            )
            for rank in range(WORKERS)
        ]
        printed = processes[0].communicate()[0]
        if any(process.wait() for process in processes):
            raise SystemExit("a process failed")
    os.close(descriptor)
    return [json.loads(line) for line in printed.splitlines()]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--descriptor", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("nets", nargs="*", default=USUAL)
    given = parser.parse_args()
    if given.rank is not None:
        work(given.rank, given.descriptor, given.folder, given.rounds, given.nets)
        return
    print(f"{WORKERS} workers, milliseconds")
    print(f"{'net':<12}{'MB':>7}{'AllReduce':>11}{'DDP':>9}{'ratio':>7}{'averaging':>11}{'PostLocal':>11}{'ratio':>7}")
    for name, size, *seconds in start(given.rounds, list(given.nets)):
        step, ddp, ours, theirs = (1000 * each for each in seconds)
        print(
            f"{name:<12}{size:>7.1f}{step:>11.1f}{ddp:>9.1f}{step / ddp:>7.2f}"
            f"{ours:>11.1f}{theirs:>11.1f}{ours / theirs:>7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
