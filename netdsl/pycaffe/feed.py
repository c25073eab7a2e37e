"""What pycaffe's nets read: databases and lists as Caffe does, and the arrays of a MemoryData layer."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from netdsl.data.batches.reading import Loading
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Shape
from netdsl.pycaffe import modes
from netdsl.pycaffe.blob import Array


def loading() -> Loading:
    """As `set_random_seed`, `set_solver_rank` and `set_solver_count` said."""
    return Loading(seed=torch.initial_seed() % 2**63, rank=modes.solver_rank(), size=modes.solver_count())


class Arrays:
    """Data and labels, handed out in batches of a shape and then from the start again."""

    waited = 0.0

    def __init__(self, shape: Shape, data: Array, labels: Array) -> None:
        batch, item = shape[0], shape[1:]
        _check("data", data, item)
        _check("labels", labels, (1, 1, 1))
        if len(data) != len(labels):
            raise ShapeError(f"there are {len(data)} items and {len(labels)} labels")
        if not len(data) or len(data) % batch:
            raise ShapeError(f"{len(data)} items are no whole number of batches of {batch}")
        self._data, self._labels, self._size = data, labels.reshape(-1), batch
        self.position = 0

    def __next__(self) -> tuple[Tensor, ...]:
        at = self.position * self._size % len(self._data)
        self.position += 1
        return tuple(torch.tensor(array[at : at + self._size]) for array in (self._data, self._labels))

    def seek(self, position: int) -> None:
        """Go on with this batch."""
        self.position = position

    def close(self) -> None:
        """Nothing is open."""


def _check(what: str, array: Array, item: Shape) -> None:
    if array.dtype != np.float32 or not array.flags.c_contiguous:
        raise NetError(f"{what} must be float32 and C-contiguous: make it so with np.ascontiguousarray(x, np.float32)")
    if array.shape[1:] != item:
        raise ShapeError(f"{what} must have shape N x {' x '.join(map(str, item))}, not {list(array.shape)}")
