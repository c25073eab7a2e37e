"""Blobs as a Python layer sees them: numpy arrays with pycaffe's names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]


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
