"""Compares the planner's predicted seconds to average a model over workers of this machine with measured ones."""

from __future__ import annotations

import argparse

from benchmarks.processes import run_processes
from netdsl.distributed.machines import ExchangeKind, SharedMemoryLink
from netdsl.planner.measuring import memory_bandwidth
from netdsl.planner.planning import Planner
from zoo.names import solver_of

NETS = ("lenet", "googlenet", "resnet-50", "alexnet", "vgg-16")
WORKERS = (2, 4)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="*", default=WORKERS)
    parser.add_argument("--rounds", type=int, default=11)
    arguments = parser.parse_args()
    link = SharedMemoryLink(memory_bandwidth())
    print(f"the memory's bandwidth is {link.bandwidth / 1e9:.1f} GB/s")
    bytes_ = {name: Planner(solver_of(name)[0]).model.bytes for name in NETS}
    sizes = [str(count / 1e6) for count in bytes_.values()]
    print(f"{'net':<12}{'MB':>6}{'workers':>9}{'predicted, s':>14}{'measured, s':>13}{'error':>8}")
    for workers in arguments.workers:
        options = ["--rounds", str(arguments.rounds), "--workers", str(workers), "--sizes", *sizes]
        measured = run_processes("benchmarks.averaging", workers, options, parent="/dev/shm")
        for (name, count), (_, seconds, *_) in zip(bytes_.items(), measured, strict=True):
            predicted = link.seconds(ExchangeKind.MEAN, workers, count)
            figures = f"{predicted:>14.4f}{seconds:>13.4f}{predicted / seconds - 1:>+8.0%}"
            print(f"{name:<12}{count / 1e6:>6.0f}{workers:>9}{figures}", flush=True)


if __name__ == "__main__":
    main()
