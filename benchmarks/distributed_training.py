"""Compares two workers with torch's DistributedDataParallel and its post-local SGD, in one run.

Both train the same modules on the same data. A step of AllReduce takes turns with a step of DDP over gloo with torch's
optimizer. An exchange of model averaging takes turns with one of torch's averager over gloo.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import warnings
from pathlib import Path

import torch
import torch.distributed
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.nn.parallel import DistributedDataParallel

from benchmarks.nets import PAIRS, NetPair
from benchmarks.processes import connected, measure, run_processes
from benchmarks.training import DECAY, MOMENTUM, RATE, train_val
from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.distributed.transports.shared_memory import SharedMemoryCommunicator
from netdsl.distributed.worker import Worker
from netdsl.model.model import Model
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import ModuleNet

WORKERS = 2
DEFAULT_NETS = ("LeNet", "CaffeNet", "GoogLeNet")


class TrainedPair:
    """A net in one of the processes, trained by netdsl and by torch."""

    def __init__(self, pair: NetPair, communicator: SharedMemoryCommunicator) -> None:
        batch = pair.training_batch // WORKERS
        random = torch.Generator().manual_seed(communicator.rank)
        data = torch.randn(batch, *pair.image, generator=random)
        self.inputs = {"data": data, "label": torch.randint(10, (batch,), generator=random)}
        param = pb.SolverParameter(
            base_lr=RATE, lr_policy="fixed", momentum=MOMENTUM, weight_decay=DECAY, max_iter=1 << 30
        )
        self.solver, theirs = Solver(param, self._net(pair, batch)), self._net(pair, batch)
        self.worker = Worker(self.solver, communicator)
        AllReduce().begin(self.worker)
        self.parameters = list(theirs.module.parameters())
        self.parallel = DistributedDataParallel(theirs.module)
        self.optimizer = torch.optim.SGD(self.parameters, RATE, MOMENTUM, weight_decay=DECAY)
        with warnings.catch_warnings(action="ignore"):  # torch recommends DDP for averaging after every step
            self.averager = PeriodicModelAverager(period=1)

    def _net(self, pair: NetPair, batch: int) -> ModuleNet:
        net = train_val(pair.params(batch), batch)
        net.state.phase = pb.TRAIN
        return ModuleNet.open(Model(net), values=itertools.repeat(self.inputs))

    def ours(self) -> None:
        """Run netdsl's step, which averages gradients."""
        self.worker.iterate()

    def theirs(self) -> None:
        """Run torch's step, which averages gradients."""
        self.optimizer.zero_grad()
        self.parallel(**self.inputs)["loss"].backward()
        self.optimizer.step()

    def our_round(self) -> None:
        """Run netdsl's exchange of model averaging."""
        self.worker.take_mean()

    def their_round(self) -> None:
        """Run torch's exchange of post-local SGD."""
        self.averager.average_parameters(iter(self.parameters))


def run_worker(rank: int, descriptor: int, folder: Path, rounds: int, nets: list[str]) -> None:
    """Run one process. The first process prints the measurements."""
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // WORKERS))
    torch.manual_seed(0)
    with connected(descriptor, rank, WORKERS, folder) as communicator:
        for pair in PAIRS:
            if pair.name in nets:
                trained = TrainedPair(pair, communicator)
                methods = (trained.ours, trained.theirs, trained.our_round, trained.their_round)
                medians = measure(communicator, methods, rounds)
                if rank == 0:
                    size = sum(parameter.numel() for parameter in trained.parameters) * 4e-6
                    print(json.dumps([pair.name, size, *medians]), flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--descriptor", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("nets", nargs="*", default=DEFAULT_NETS)
    arguments = parser.parse_args()
    if arguments.rank is not None:
        run_worker(arguments.rank, arguments.descriptor, arguments.folder, arguments.rounds, arguments.nets)
        return
    print(f"{WORKERS} workers, milliseconds")
    print(f"{'net':<12}{'MB':>7}{'AllReduce':>11}{'DDP':>9}{'ratio':>7}{'averaging':>11}{'PostLocal':>11}{'ratio':>7}")
    options = ["--rounds", str(arguments.rounds), *arguments.nets]
    for name, size, *seconds in run_processes("benchmarks.distributed_training", WORKERS, options):
        step, ddp, ours, theirs = (1000 * value for value in seconds)
        print(
            f"{name:<12}{size:>7.1f}{step:>11.1f}{ddp:>9.1f}{step / ddp:>7.2f}"
            f"{ours:>11.1f}{theirs:>11.1f}{ours / theirs:>7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
