"""A blob as pycaffe shows it: numpy arrays that can be written to."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]


class Memory(Protocol):
    """Where a blob's values are; either tensor may be asked for before it was ever made."""

    def values(self) -> Tensor:
        """The values."""

    def gradient(self) -> Tensor:
        """The gradients."""

    def resize(self, shape: tuple[int, ...]) -> None:
        """Take another shape."""


class Blob:
    """Values and gradients of one blob.

    `data` and `diff` share memory with the tensors on a CPU. On a GPU they are copies, which `flush` carries back
    before the net runs again, so that writing to them works there too.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._copies: list[tuple[Tensor, Array]] = []

    @property
    def data(self) -> Array:
        """The values."""
        return self._array(self._memory.values())

    @property
    def diff(self) -> Array:
        """The gradients."""
        return self._array(self._memory.gradient())

    def _array(self, tensor: Tensor) -> Array:
        tensor = tensor.detach()
        if tensor.device.type == "cpu":
            return tensor.numpy()
        for known, copy in self._copies:
            if known.data_ptr() == tensor.data_ptr():
                return copy
        copy = tensor.cpu().numpy()
        self._copies.append((tensor, copy))
        return copy

    def flush(self) -> None:
        """Carry what was written to copies back to the device."""
        for tensor, copy in self._copies:
            tensor.copy_(torch.from_numpy(copy))
        self._copies.clear()

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of all axes."""
        return tuple(self._memory.values().shape)

    @property
    def count(self) -> int:
        """The number of values."""
        return int(np.prod(self.shape))

    def _legacy(self, axis: int) -> int:
        return self.shape[axis] if axis < len(self.shape) else 1

    num = property(lambda self: self._legacy(0))
    channels = property(lambda self: self._legacy(1))
    height = property(lambda self: self._legacy(2))
    width = property(lambda self: self._legacy(3))

    def reshape(self, *shape: int) -> None:
        """Take another shape; values are undefined until they are written."""
        self._copies.clear()
        self._memory.resize(tuple(int(size) for size in shape))
