"""pycaffe's blobs, whose values and gradients are writable numpy arrays."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netdsl.errors import ShapeError

Array = NDArray[Any]


class BlobMemory(Protocol):
    """The memory of a blob's values and gradients, which is allocated when it is first used."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of all axes."""

    def values(self) -> Tensor:
        """The values."""

    def gradient(self) -> Tensor:
        """The gradients."""

    def resize(self, shape: tuple[int, ...]) -> None:
        """Change the shape."""


class ArrayMirror:
    """An array with the values of a tensor, on a CPU in the same memory.

    On a GPU it is a copy, which is updated when it is read, and copied back before the net runs again so that writing
    to it works too. Caffe does the same.
    """

    def __init__(self) -> None:
        self._array: Array | None = None
        self._tensor: Tensor | None = None  # the tensor that the array has to be copied back to

    def show(self, tensor: Tensor) -> Array:
        """The array with the values of a tensor."""
        tensor = tensor.detach()
        if tensor.device.type == "cpu":
            return tensor.numpy()
        if self._array is None or self._array.shape != tuple(tensor.shape):
            self._array, self._tensor = np.empty(tuple(tensor.shape), np.float32), None
        if self._tensor is None:
            self._array[...] = tensor.cpu().numpy()
            self._tensor = tensor
        return self._array

    def flush(self) -> None:
        """Copy back what may have been written to the array."""
        if self._tensor is not None and self._array is not None:
            self._tensor.data.copy_(torch.from_numpy(self._array))
            self._tensor = None


class Blob:
    """Values and gradients of one blob."""

    def __init__(self, memory: BlobMemory) -> None:
        self._memory = memory
        self._data, self._diff = ArrayMirror(), ArrayMirror()

    @property
    def data(self) -> Array:
        """The values."""
        return self._data.show(self._memory.values())

    @property
    def diff(self) -> Array:
        """The gradients."""
        return self._diff.show(self._memory.gradient())

    def flush(self) -> None:
        """Copy what was written to arrays back to the device."""
        self._data.flush()
        self._diff.flush()

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of all axes."""
        return self._memory.shape

    @property
    def count(self) -> int:
        """The number of values."""
        return math.prod(self.shape)

    def _legacy(self, axis: int) -> int:
        if len(self.shape) > 4:
            raise ShapeError(f"num, channels, height and width are for 4 axes at most, this blob has {len(self.shape)}")
        return self.shape[axis] if axis < len(self.shape) else 1

    num = property(lambda self: self._legacy(0))
    channels = property(lambda self: self._legacy(1))
    height = property(lambda self: self._legacy(2))
    width = property(lambda self: self._legacy(3))

    def reshape(self, *shape: int) -> None:
        """Change the shape. Values are kept if they fit; otherwise they are undefined until they are written."""
        sizes = tuple(int(size) for size in shape)
        if any(size < 0 for size in sizes):
            raise ShapeError(f"{list(sizes)} is not a shape: an axis can't be shorter than 0")
        self.flush()
        self._memory.resize(sizes)
