"""Layers that users write in Python: their names in nets, their interface, and notes on their exceptions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.errors import LayerNote, user_code_problem
from netdsl.layer.core import Layer
from netdsl.layer.running import NeedsValues

Array = NDArray[Any]


class RunsUserCode(NeedsValues):
    """A layer that runs user code which the net names. `user` is the object of the user's class."""

    waits = "runs Python code on the host"
    user: Any


class ReplacesUserCode(Layer):
    """A layer type that replaces some well-known Python layers."""

    python_names: ClassVar[tuple[str, ...]]  # the replaced layers, as returned by `python_name`


def python_name(layer: pb.LayerParameter) -> str | None:
    """Return the module and class of a Python layer as module.class, or `None` for other layers."""
    python = layer.python_param
    return f"{python.module}.{python.layer}" if layer.HasField("python_param") else None


def is_allowed(layer: pb.LayerParameter) -> bool:
    """Return whether the user has allowed the code that a Python layer names."""
    return layer.python_param.module in PYTHON_LAYERS


@contextmanager
def running_user_code(layer: pb.LayerParameter) -> Iterator[None]:
    """Add a note with the layer and the line of its file to exceptions of user code, and raise them unchanged."""
    try:
        yield
    except Exception as problem:
        if user_code_problem(problem) is None:
            problem.add_note(LayerNote(f"layer '{layer.name}' ({python_name(layer)}){_line_of(problem, layer)}"))
        raise


def _line_of(problem: Exception, layer: pb.LayerParameter) -> str:
    """Return the line of the user's file at which the exception occurred, as text, or an empty text."""
    file = getattr(sys.modules.get(layer.python_param.module), "__file__", None)
    lines = [frame.lineno for frame in extract_tb(problem.__traceback__) if frame.filename == file]
    return f", {Path(file).name}:{lines[-1]}" if file and lines else ""


class ArrayBlob:
    """The values and gradients of one blob."""

    def __init__(self, shape: tuple[int, ...] = (), dtype: DTypeLike = np.float32) -> None:
        self.data: Array = np.zeros(shape, dtype)
        self.diff: Array = np.zeros(shape, dtype)

    def reshape(self, *shape: int) -> None:
        """Set the shape. Values are lost if it changes."""
        if shape != self.data.shape:
            self.data = np.zeros(shape, self.data.dtype)
            self.diff = np.zeros(shape, self.data.dtype)

    def hold(self, values: Array) -> None:
        """Store a copy of these values, and clear the gradient."""
        self.data = values.copy()
        self.diff = np.zeros_like(self.data)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of all axes."""
        return self.data.shape

    @property
    def count(self) -> int:
        """The number of values."""
        return self.data.size

    def _length(self, axis: int) -> int:
        return self.data.shape[axis] if axis < self.data.ndim else 1

    num = property(lambda self: self._length(0))
    channels = property(lambda self: self._length(1))
    height = property(lambda self: self._length(2))
    width = property(lambda self: self._length(3))


class ArrayBlobs(list[ArrayBlob]):
    """A layer's own blobs."""

    def add_blob(self, *shape: int) -> None:
        """Add a blob of zeros."""
        self.append(ArrayBlob(tuple(int(size) for size in shape)))
