"""A net with its weights on the way to tasks, and what is made of them there, once in a process."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

from pyspark import TaskContext

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, read_net, write
from caffe_proto.text.prototxt import from_text
from netdsl.distributed.run_worker import compute_threads

T = TypeVar("T")

Weights = str | Path | CaffeFile[pb.NetParameter]


class ShippedNet(NamedTuple):
    """A net and its weights, as files have them."""

    net: str
    weights: bytes

    def message(self) -> pb.NetParameter:
        """The net."""
        return from_text(self.net, pb.NetParameter)

    def file(self) -> CaffeFile[pb.NetParameter]:
        """The weights, in memory that stays when the file that has them is gone."""
        with TemporaryDirectory() as folder:
            path = Path(folder, "weights.caffemodel")
            path.write_bytes(self.weights)
            return read_net(path)


def bytes_of(weights: Weights) -> bytes:
    """Weights, or those of any file, as a caffemodel has them."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "weights.caffemodel")
        write(weights if isinstance(weights, CaffeFile) else read_net(weights, by_content=True), path)
        return path.read_bytes()


@contextmanager
def in_task() -> Iterator[str]:
    """Compute with the threads that a task has, and tell which part of the rows are its."""
    context = TaskContext.get()
    partition, threads = (context.partitionId(), context.cpus()) if context is not None else (0, 1)
    with compute_threads(threads):
        yield f"partition {partition}"


_KEEPING: dict[str, object] = {}  # the last one; the next task in this process has it ready


def kept(key: str, make: Callable[[], T]) -> T:
    """What is made by this key, once in a process."""
    if key not in _KEEPING:
        gc.unfreeze()
        _KEEPING.clear()
        gc.collect()
        _KEEPING[key] = make()
        gc.freeze()  # torch has many objects, which Spark would look through after each task
    return _KEEPING[key]  # type: ignore[return-value] # a key is of one kind only
