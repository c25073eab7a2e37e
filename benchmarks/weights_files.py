"""Reading and writing a 553 MB caffemodel, beside plain I/O of the same bytes and protobuf's own parser.

Every task runs several times, in turn with the others, in processes of their own, so that peak memory can be told
apart. A ratio compares medians of one run; the target is 1.3 for reading and 1.5 for writing.
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

# VGG-16's layers: outputs, inputs, kernel. Without a kernel a layer is fully connected.
VGG16 = [
    *[(64, 3, 3), (64, 64, 3), (128, 64, 3), (128, 128, 3), (256, 128, 3), (256, 256, 3), (256, 256, 3)],
    *[(512, 256, 3), (512, 512, 3), (512, 512, 3), (512, 512, 3), (512, 512, 3), (512, 512, 3)],
    *[(4096, 25088, 0), (4096, 4096, 0), (1000, 4096, 0)],
]


def vgg16() -> CaffeFile[pb.NetParameter]:
    """A net of VGG-16's size with random weights."""
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
    """The bytes into memory of our own, as plainly as can be."""
    values = np.empty(path.stat().st_size, np.uint8)
    view = memoryview(values)
    with path.open("rb", buffering=0) as file:
        while view:
            view = view[file.readinto(view) :]
    return float(values[::4096].sum())


def ours(path: Path) -> float:
    """The blobs where they lie in the file, every page of them looked at."""
    file = read_net(path)
    arrays = [file.blobs.array(blob) for layer in file.message.layer for blob in layer.blobs]
    return sum(float(array.reshape(-1)[::1024].sum()) for array in arrays)


def ours_copied(path: Path) -> float:
    """All blobs copied into one buffer of our own, as a net that is going to be trained needs them."""
    file = read_net(path)
    arrays = [file.blobs.array(blob) for layer in file.message.layer for blob in layer.blobs]
    buffer, at = np.empty(sum(array.size for array in arrays), np.float32), 0
    for array in arrays:
        buffer[at : at + array.size] = array.reshape(-1)
        at += array.size
    return float(buffer[::1024].sum())


def ours_one(path: Path) -> float:
    """One small blob of the whole file."""
    file = read_net(path)
    return float(file.blobs.array(file.message.layer[0].blobs[0]).sum())


def protobuf(path: Path) -> float:
    """The same bytes parsed by the protobuf library, values left in its own lists."""
    net = pb.NetParameter.FromString(path.read_bytes())
    return sum(float(blob.data[0]) for layer in net.layer for blob in layer.blobs)


def make(path: Path) -> float:
    """The file that the others read."""
    return timed(lambda: write(vgg16(), path))


def plain_write(path: Path) -> float:
    """The bytes written as plainly as can be."""
    data = path.read_bytes()

    def task(target: Path) -> None:
        view = memoryview(data)
        with target.open("wb", buffering=0) as file:
            while view:
                view = view[file.write(view) :]

    return to_new_file(task, path)


def our_write(path: Path) -> float:
    """The net built anew and written, not copied from where it was read."""
    file = vgg16()
    return to_new_file(lambda target: write(file, target), path)


def to_new_file(task: Callable[[Path], None], path: Path) -> float:
    """Seconds that writing takes while no other file waits to go to the disk."""
    target = path.with_name("new.caffemodel")
    os.sync()
    seconds = timed(lambda: task(target))
    target.unlink()
    return seconds


def timed(task: Callable[[], object]) -> float:
    """Seconds that a task takes."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


READERS = [readinto, ours, ours_copied, ours_one, protobuf]
WRITERS = [plain_write, our_write]


def child(name: str, path: Path) -> None:
    """One task in this process: its seconds and the memory that it added."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    task = next(task for task in [make, *READERS, *WRITERS] if task.__name__ == name)
    seconds = timed(lambda: task(path)) if task in READERS else task(path)
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"seconds": seconds, "megabytes": added / 1000}))


def in_child(name: str, path: Path) -> dict[str, float]:
    """What a process of its own measured. This one stays small: a child's peak begins at its parent's."""
    command = [sys.executable, __file__, "--child", name, str(path)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def measure(path: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Medians of every task, taken in turn."""
    runs: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        for task in READERS + WRITERS:
            runs.setdefault(task.__name__, []).append(in_child(task.__name__, path))
    return {
        name: {key: statistics.median(run[key] for run in found) for key in found[0]} for name, found in runs.items()
    }


def report(size: int, found: dict[str, dict[str, float]]) -> None:
    """The table, with every task's ratio to the plain one of its kind."""
    print(f"{size / 1e6:.0f} MB caffemodel, medians\n")
    print(f"{'task':<14}{'seconds':>9}{'ratio':>8}{'MB added':>10}   what it does")
    for tasks in (READERS, WRITERS):
        plain = found[tasks[0].__name__]["seconds"]
        for task in tasks:
            seconds, megabytes = found[task.__name__].values()
            ratio, what = seconds / plain, str(task.__doc__).splitlines()[0]
            print(f"{task.__name__:<14}{seconds:>9.3f}{ratio:>8.2f}{megabytes:>10.0f}   {what}")


def main() -> None:
    """Make the file, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", nargs=2, metavar=("TASK", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child[0], Path(arguments.child[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vgg16.caffemodel"
        in_child("make", path)
        os.sync()
        report(path.stat().st_size, measure(path, arguments.rounds))


if __name__ == "__main__":
    main()
