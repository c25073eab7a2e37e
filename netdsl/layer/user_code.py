"""Layers that are written in Python by users: the blobs that they see, and the names that nets call them by."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.layer.core import Layer

Array = NDArray[Any]


class RunsUserCode(Layer):
    """A layer that runs code which the net names. `user` is the object of the user's class."""

    user: Any


class ReplacesUserCode(Layer):
    """A layer type that does what some well-known Python layers do."""

    python_names: ClassVar[tuple[str, ...]]  # those layers, as `python_name` calls them


def python_name(layer: pb.LayerParameter) -> str | None:
    """The module and class that a Python layer names, as module.class; None for other layers."""
    python = layer.python_param
    return f"{python.module}.{python.layer}" if layer.HasField("python_param") else None


def user_file(layer: pb.LayerParameter) -> str | None:
    """The file with a Python layer's code, once that is loaded."""
    return getattr(sys.modules.get(layer.python_param.module), "__file__", None)


class ArrayBlob:
    """Values and gradients of one blob."""

    def __init__(self, shape: tuple[int, ...] = (), dtype: DTypeLike = np.float32) -> None:
        self.data: Array = np.zeros(shape, dtype)
        self.diff: Array = np.zeros(shape, dtype)

    def reshape(self, *shape: int) -> None:
        """Take another shape; what was in it is lost."""
        if shape != self.data.shape:
            self.data = np.zeros(shape, self.data.dtype)
            self.diff = np.zeros(shape, self.data.dtype)

    def hold(self, values: Array) -> None:
        """Have a copy of these values, and no gradient."""
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
        """One more, of zeros."""
        self.append(ArrayBlob(tuple(int(size) for size in shape)))
