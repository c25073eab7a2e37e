"""Measures reading and writing of a 553 MB caffemodel, compared with plain I/O of the same bytes and protobuf's parser.

Readers take turns in separate processes, so that each has its own memory peak. Writers take turns in one process. A
ratio compares medians of one run. The target is 1.3 for reading and 1.5 for writing.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from caffe_proto import CaffeFile, Form, read_net, write
from caffe_proto import caffe_pb2 as pb

# VGG-16's layers: outputs, inputs and kernel. A layer without a kernel is fully connected.
VGG16 = [
    *[(64, 3, 3), (64, 64, 3), (128, 64, 3), (128, 128, 3), (256, 128, 3), (256, 256, 3), (256, 256, 3)],
    *[(512, 256, 3), (512, 512, 3), (512, 512, 3), (512, 512, 3), (512, 512, 3), (512, 512, 3)],
    *[(4096, 25088, 0), (4096, 4096, 0), (1000, 4096, 0)],
]


def vgg16() -> CaffeFile[pb.NetParameter]:
    """Return a net of VGG-16's size with random weights."""
    file = CaffeFile(pb.NetParameter(name="VGG-16"), form=Form.BINARY)
    draw = np.random.default_rng(0)
    for index, (outputs, inputs, kernel) in enumerate(VGG16):
        kind = "Convolution" if kernel else "InnerProduct"
        layer = file.message.layer.add(name=f"layer{index}", type=kind)
        shape = (outputs, inputs, kernel, kernel) if kernel else (outputs, inputs)
        file.blobs.put(layer.blobs.add(), draw.standard_normal(shape, np.float32))
        file.blobs.put(layer.blobs.add(), np.zeros(outputs, np.float32))
    return file


def readinto(path: Path) -> float:
    """Read the bytes into allocated memory."""
    values = np.empty(path.stat().st_size, np.uint8)
    view = memoryview(values)
    with path.open("rb", buffering=0) as file:
        while view:
            view = view[file.readinto(view) :]
    return float(values[::4096].sum())


def ours(path: Path) -> float:
    """Map the blobs and access every page."""
    file = read_net(path)
    arrays = [file.blobs.array(blob) for layer in file.message.layer for blob in layer.blobs]
    return sum(float(array.reshape(-1)[::1024].sum()) for array in arrays)


def ours_copied(path: Path) -> float:
    """Copy all blobs into one buffer, as training needs them."""
    file = read_net(path)
    arrays = [file.blobs.array(blob) for layer in file.message.layer for blob in layer.blobs]
    buffer, start = np.empty(sum(array.size for array in arrays), np.float32), 0
    for array in arrays:
        buffer[start : start + array.size] = array.reshape(-1)
        start += array.size
    return float(buffer[::1024].sum())


def ours_one(path: Path) -> float:
    """Access one small blob of the file."""
    file = read_net(path)
    return float(file.blobs.array(file.message.layer[0].blobs[0]).sum())


def protobuf(path: Path) -> float:
    """Parse the bytes into protobuf's own lists with the protobuf library."""
    net = pb.NetParameter.FromString(path.read_bytes())
    return sum(float(blob.data[0]) for layer in net.layer for blob in layer.blobs)


def make(path: Path) -> None:
    """Write the file that the readers read."""
    write(vgg16(), path)


def plain_write(path: Path, data: bytes) -> None:
    """Write the bytes."""
    view = memoryview(data)
    with path.open("wb", buffering=0) as file:
        while view:
            view = view[file.write(view) :]


def our_write(path: Path, net: CaffeFile[pb.NetParameter]) -> None:
    """Write a net that was built in memory."""
    write(net, path)


def time_writers(path: Path, rounds: int) -> dict[str, float]:
    """Return the median seconds of both writers in one process, because the speed of memory depends on its earlier
    use."""
    net, data = vgg16(), path.read_bytes()
    tasks: dict[str, Callable[[Path], None]] = {
        "plain_write": lambda target: plain_write(target, data),
        "our_write": lambda target: our_write(target, net),
    }
    runs = [{name: time_new_file(task, path) for name, task in tasks.items()} for _ in range(rounds + 1)][1:]
    return {name: statistics.median(run[name] for run in runs) for name in tasks}


def time_new_file(task: Callable[[Path], None], path: Path) -> float:
    """Return the seconds of a task that writes a new file while no other file is waiting to be written to the disk."""
    target = path.with_name("new.caffemodel")
    os.sync()
    seconds = time_task(lambda: task(target))
    target.unlink()
    return seconds


def time_task(task: Callable[[], object]) -> float:
    """Return the seconds of a task."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


READERS = [readinto, ours, ours_copied, ours_one, protobuf]


def run_task(name: str, path: Path, rounds: int) -> dict[str, float]:
    """Run one task in this process, and return its seconds and, for readers, the memory that it added."""
    if name == "write":
        return time_writers(path, rounds)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    task = next(task for task in [make, *READERS] if task.__name__ == name)
    seconds = time_task(lambda: task(path))
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"seconds": seconds, "megabytes": added / 1000}


def run_in_child(name: str, path: Path, rounds: int) -> dict[str, float]:
    """Run one task in its own process. This process must stay small, because a child's memory peak starts at its
    parent's."""
    command = [sys.executable, __file__, "--rounds", str(rounds), "--child", name, str(path)]
    measured: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return measured


def report(path: Path, rounds: int) -> None:
    """Print the table with every task's ratio to the plain task of its kind."""
    runs = [{task.__name__: run_in_child(task.__name__, path, rounds) for task in READERS} for _ in range(rounds)]
    print(f"{path.stat().st_size / 1e6:.0f} MB caffemodel, medians of {rounds}\n")
    print(f"{'task':<14}{'seconds':>9}{'ratio':>8}{'MB added':>10}   what it does")
    plain = statistics.median(run["readinto"]["seconds"] for run in runs)
    for task in READERS:
        seconds = statistics.median(run[task.__name__]["seconds"] for run in runs)
        megabytes = statistics.median(run[task.__name__]["megabytes"] for run in runs)
        print(f"{task.__name__:<14}{seconds:>9.3f}{seconds / plain:>8.2f}{megabytes:>10.0f}   {task.__doc__}")
    write_seconds = run_in_child("write", path, rounds)
    for writer in (plain_write, our_write):
        seconds = write_seconds[writer.__name__]
        ratio = seconds / write_seconds["plain_write"]
        print(f"{writer.__name__:<14}{seconds:>9.3f}{ratio:>8.2f}{'':>10}   {writer.__doc__}")


def main() -> None:
    """Create the file, measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", nargs=2, metavar=("TASK", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, path = arguments.child
        print(json.dumps(run_task(name, Path(path), arguments.rounds)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vgg16.caffemodel"
        run_in_child("make", path, arguments.rounds)
        os.sync()
        report(path, arguments.rounds)


if __name__ == "__main__":
    main()
