"""A net with its weights as it is sent to tasks, where it is built once in a process."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self, TypeVar

import torch
from pyspark import TaskContext

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.files import CaffeFile, Form, write
from caffe_proto.text.prototxt import from_text
from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS
from netdsl.distributed.run_worker import compute_threads
from netdsl.distributed.worker_device import worker_device
from netdsl.model import open_model, open_weights
from netdsl.plugins import plugin_places
from netdsl.spark.workers.task_resources import assigned_gpus
from netdsl.weights.match import Weights
from netdsl.weights.writing import caffe_file_of

T = TypeVar("T")

WeightsSource = str | Path | CaffeFile[pb.NetParameter] | Weights


class ShippedNet(NamedTuple):
    """A net as prototxt, with its weights as the bytes of a caffemodel, and what the user allows it to run."""

    net: str
    weights: bytes
    python: tuple[tuple[str, str], ...] = ()  # modules of Python layers, with their folders on the driver's machine
    plugins: tuple[tuple[str, str], ...] = ()  # likewise of plug-ins

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

    def with_allowed(self) -> Self:
        """The net as it is sent to tasks, with the Python modules that the user allows now."""
        python, plugins = PYTHON_LAYERS.places(), plugin_places()
        return self._replace(python=tuple(python.items()), plugins=tuple(plugins.items()))

    def message(self) -> pb.NetParameter:
        """The net as a message."""
        return from_text(self.net, pb.NetParameter)

    def load(self) -> tuple[pb.NetParameter, Weights]:
        """The net and its weights, which stay valid when the file that they are mapped from is removed.

        From now on this process allows what the user allowed on the driver.
        """
        PYTHON_LAYERS.allow(dict(self.python))
        PLUGINS.allow(dict(self.plugins))
        with TemporaryDirectory() as folder:
            path = Path(folder, "weights.caffemodel")
            path.write_bytes(self.weights)
            return self.message(), open_weights(path).weights


@contextmanager
def in_task(device: str | None = None) -> Iterator[tuple[str, torch.device]]:
    """Compute with the threads that the task has; the values are the name of its part of the rows, and its device.

    Without a named device that is the GPU that Spark assigned to the task, or else the processor. A problem with the
    rows is told by its message alone. The task's process ends with it, so nobody else loses his traceback.
    """
    context = TaskContext.get()
    partition, threads = (context.partitionId(), context.cpus()) if context is not None else (0, 1)
    with compute_threads(threads):
        try:
            yield f"partition {partition}", _device_of(context, device)
        except CaffeError:
            if context is not None:
                os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # read by Spark when it reports what ends the process
            raise


def _device_of(context: TaskContext | None, name: str | None) -> torch.device:
    gpus = assigned_gpus(context) if context is not None else ()
    requested = torch.device(name or ("cuda" if gpus else "cpu"))
    return worker_device(requested, context.partitionId() if context is not None else 0, gpus)


_CACHE: dict[str, object] = {}  # the last value only, for the next task in this process


def once_per_process(key: str, make: Callable[[], T]) -> T:
    """The value of a key, which is made by the first task of a process that asks for it."""
    if key not in _CACHE:
        gc.unfreeze()
        _CACHE.clear()
        gc.collect()
        _CACHE[key] = make()
        gc.freeze()  # or Spark would go through torch's many objects after each task
    return _CACHE[key]  # type: ignore[return-value] # all values of a key have one type
