"""Compares the memory of training on this machine's CPU with the planner's prediction, for nets of the catalogue.

Each net is trained in a separate process by its own solver, with images from an LMDB. Its memory is the peak of the
process, minus the memory before the net was created. A small net is trained before that, so that the libraries' code,
threads and buffers are already loaded. The process makes glibc release large blocks as soon as they are free. By
default, it keeps some of them, and how many depends on earlier allocations.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl import ConvLayer, LinearLayer, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.data.writing.databases import lmdb_writer
from netdsl.data.writing.example import Example
from netdsl.model.model import Model
from netdsl.net.build import set_batch
from netdsl.net.graph import Phase
from netdsl.planner.memory import MemoryUse, training_memory
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import open_settings
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import ModuleNet
from zoo.catalogue import entry_of

BATCHES = {"lenet": (2048, 4096), "alexnet": (16, 32), "googlenet": (16, 32), "vgg-16": (8, 16), "resnet-50": (16, 32)}
IMAGES = 8
SHAPES = {"lenet": (1, 28, 28)}  # the others use 3 x 256 x 256
ITERATIONS = 2
RATE = 1e-7  # so small that noise can be learned from
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 16), "MALLOC_TRIM_THRESHOLD_": str(1 << 16)}


def predicted(name: str, batch: int) -> MemoryUse:
    """Return the planner's prediction."""
    entry = entry_of(name)
    built = Model(entry.train_val.message, items=entry.inputs).layers(Phase.TRAIN)
    set_batch(built, batch)
    return training_memory(built, entry.solver)


def measured(name: str, batch: int, images: Path) -> int:
    """Return the bytes that a separate process uses."""
    command = [sys.executable, "-m", "benchmarks.planner_memory", name, "--batch", str(batch), "--images", str(images)]
    printed = subprocess.run(command, env=os.environ | MALLOC, stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(json.loads(printed.splitlines()[-1]))


def train(name: str, batch: int, images: Path) -> int:
    """Return the most bytes by which the memory of this process grows while it trains a net."""
    param = solver_of(name, batch, images)
    warm_up()
    before = resident("VmRSS")
    with open_solver(open_settings(param)) as solver:
        solver.solve()
    return resident("VmHWM") - before


def warm_up() -> None:
    """Train a small net, so that everything the libraries always need is loaded."""
    net = NetParams(
        "small",
        RDDLayer("data", shape=[8, 32, 28, 28]),
        RDDLayer("label", shape=[8]),
        ConvLayer("conv", ["data"], kernel=(3, 3), num_filters=32),
        LinearLayer("scores", ["conv"], num_outputs=10),
        SoftmaxWithLoss("loss", ["scores", "label"]),
    )
    batch = {"data": np.ones((8, 32, 28, 28), np.float32), "label": np.zeros(8, np.float32)}
    Solver(
        pb.SolverParameter(base_lr=RATE, lr_policy="fixed"), ModuleNet.open(Model(net.message), values=[batch])
    ).step(2)


def solver_of(name: str, batch: int, images: Path) -> pb.SolverParameter:
    """Return the solver of a net of the catalogue, changed to train with these images and neither to test nor to
    save."""
    entry, param = entry_of(name), pb.SolverParameter()
    param.CopyFrom(entry.solver)
    for field in ("net", "test_iter", "test_interval", "snapshot", "display"):
        param.ClearField(field)
    param.train_net_param.CopyFrom(entry.train_val.message)
    for layer in param.train_net_param.layer:
        if layer.HasField("data_param"):
            layer.data_param.source, layer.data_param.batch_size = str(images), batch
            layer.data_param.backend = pb.DataParameter.LMDB
            layer.transform_param.ClearField("mean_file")
    param.max_iter, param.snapshot_after_train, param.base_lr = ITERATIONS, False, RATE
    param.iter_size = 1  # all batches need the same memory
    return param


def write_images(path: Path, shape: tuple[int, int, int]) -> None:
    """Write an LMDB of noise."""
    random = np.random.default_rng(0)
    with lmdb_writer(path) as put:
        for index in range(IMAGES):
            image = random.integers(0, 256, shape).astype(np.float32)
            put(Example(index, "", (image, np.float32(index))))


def resident(field: str) -> int:
    """Return the bytes of memory that this process uses now (VmRSS) or has used at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(f"{field}:")).split()[1])


def main() -> None:
    """Print the table, or in a separate process the bytes that one net uses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nets", nargs="*", default=list(BATCHES))
    parser.add_argument("--batch", type=int)
    parser.add_argument("--images", type=Path)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    if arguments.images:
        print(json.dumps(train(arguments.nets[0], arguments.batch, arguments.images)))
        return
    kinds = ", ".join(MemoryUse.__dataclass_fields__)
    print(f"MB; the last numbers are the parts of the prediction: {kinds}")
    print(f"{'net':<12}{'batch':>6}{'measured':>10}{'predicted':>11}{'error':>8}")
    with TemporaryDirectory() as folder:
        for name in arguments.nets:
            images = Path(folder, name)
            write_images(images, SHAPES.get(name, (3, 256, 256)))
            for batch in [arguments.batch] if arguments.batch else BATCHES[name]:
                use, taken = predicted(name, batch), measured(name, batch, images)
                parts = " ".join(f"{size / 1e6:.0f}" for size in vars(use).values())
                error = use.total / taken - 1
                print(
                    f"{name:<12}{batch:>6}{taken / 1e6:>10.0f}{use.total / 1e6:>11.0f}{error:>8.1%}  {parts}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
