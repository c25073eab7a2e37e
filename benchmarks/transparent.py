"""Measures scripts under `zoo run`: the cost of one worker compared with plain Python, and scaling compared with DDP.

A script trains a convolutional net with plain Python, under `zoo run` with one worker and with several, and with DDP
and its sampler in extra lines. Each variant prints the median seconds of a step.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """
import os, statistics, sys, time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

steps, batch, threads = map(int, sys.argv[1:4])
torch.set_num_threads(threads)
torch.manual_seed(0)
data = TensorDataset(torch.randn(steps * batch, 3, 32, 32), torch.randint(10, (steps * batch,)))
model = nn.Sequential(
    nn.Conv2d(3, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(),
    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4096, 256), nn.ReLU(), nn.Linear(256, 10),
)
loader = DataLoader(data, batch, shuffle=True)
if "DDP" in os.environ:
    torch.distributed.init_process_group("gloo")
    size = torch.distributed.get_world_size()
    loader = DataLoader(data, batch // size, sampler=DistributedSampler(data))
    model = nn.parallel.DistributedDataParallel(model)
optimizer, loss_of = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), nn.CrossEntropyLoss()
times = [time.perf_counter()]
for inputs, labels in loader:
    optimizer.zero_grad()
    loss = loss_of(model(inputs), labels)
    loss.backward()
    optimizer.step()
    times.append(time.perf_counter())
if os.environ.get("RANK", "0") == "0":
    print(statistics.median(after - before for before, after in zip(times[5:], times[6:])))
"""
PYTHON = [sys.executable]
ZOO = [sys.executable, "-c", "from zoo.cli import main; main()", "run", "--workers"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node"]


def step_seconds(command: list[str], **environment: str) -> float:
    """Return the median seconds of a step, as the script prints them."""
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text(SCRIPT)
        words = [str(script), str(given.steps), str(given.batch), "1"]
        workers = str(given.workers)
        rounds = [
            (
                step_seconds([*PYTHON, *words]),
                step_seconds([*ZOO, "1", *words]),
                step_seconds([*ZOO, workers, *words]),
                step_seconds([*TORCHRUN, workers, *words], DDP="1"),
            )
            for _ in range(given.rounds)
        ]
    plain, one, several, ddp = (1000 * statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"a batch of {given.batch}, one thread for each process; milliseconds per step")
    print(f"{'plain Python':<24}{plain:>9.1f}")
    print(f"{'zoo run, 1 worker':<24}{one:>9.1f}   {one / plain - 1:+.1%} compared with plain Python")
    for name, value in ((f"zoo run, {workers} workers", several), (f"DDP, {workers} processes", ddp)):
        print(f"{name:<24}{value:>9.1f}   {plain / value:.2f} times the speed of plain Python")
    print(f"{'zoo run against DDP':<24}{several / ddp:>9.2f}")


if __name__ == "__main__":
    main()
