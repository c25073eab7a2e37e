"""A net with its weights on the way to tasks, and what is made of them there, once in a process."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self, TypeVar

from pyspark import TaskContext

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, Form, write
from caffe_proto.text.prototxt import from_text
from netdsl.distributed.run_worker import compute_threads
from netdsl.model import open_model, open_weights
from netdsl.weights.match import Weights
from netdsl.weights.writing import caffe_file_of

T = TypeVar("T")

WeightsSource = str | Path | CaffeFile[pb.NetParameter] | Weights


class ShippedNet(NamedTuple):
    """A net as prototxt, and its weights as a caffemodel has them."""

    net: str
    weights: bytes

    @classmethod
    def of(cls, net: str, weights: WeightsSource) -> Self:
        """A net with weights by layer, or those of a file of any format."""
        if isinstance(weights, (str, Path)):
            model = open_model(from_text(net, pb.NetParameter), [weights])
            file = model.file or caffe_file_of(model.weights)
        else:
            file = weights if isinstance(weights, CaffeFile) else caffe_file_of(weights)
        with TemporaryDirectory() as folder:
            path = Path(folder, "weights.caffemodel")
            write(file, path, form=Form.BINARY)
            return cls(net, path.read_bytes())

    def message(self) -> pb.NetParameter:
        """The net."""
        return from_text(self.net, pb.NetParameter)

    def opened(self) -> tuple[pb.NetParameter, Weights]:
        """The net and its weights, in memory that stays when the file that has them is gone."""
        with TemporaryDirectory() as folder:
            path = Path(folder, "weights.caffemodel")
            path.write_bytes(self.weights)
            return self.message(), open_weights(path).weights


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
