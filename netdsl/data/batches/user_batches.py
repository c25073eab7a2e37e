"""Batches that a program passes in: whole ones as they are, or single items that are stacked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from netdsl.data.types import Shape
from netdsl.errors import DataError

Rows = Mapping[str, Any] | Sequence[Any]  # arrays or tensors by blob, or in the order of the blobs
Values = Iterable[Rows] | Callable[[], Rows]


def check_not_empty(values: object) -> None:
    """Raise a DataError for a list of no batches and no items."""
    if isinstance(values, Sized) and not len(values):
        raise DataError("there are no data: the list of batches or items is empty")


class UserBatches(Iterator[tuple[Tensor, ...]]):
    """An iterator over batches for blobs of these shapes, from an iterable or from a function that returns the next.

    Each value is a batch or an item, which has one axis less; the blob with the largest items tells which. Batches
    aren't copied. An iterable begins again at its end. Lengths below 0, and shapes without any, are those
    of the first value, and then in `shapes`.
    """

    def __init__(self, values: Values, shapes: Mapping[str, Shape]) -> None:
        self._values = values
        self._shapes: dict[str, Shape] = {}
        self._rows: Iterator[Rows] = self._endless_rows()
        self.position = 0
        self.waited = 0.0
        self._shapes = self._completed(shapes)
        self._largest = max(self._shapes, key=lambda name: math.prod(self._shapes[name][1:]))

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """The shapes of batches by blob."""
        return self._shapes

    def _completed(self, shapes: Mapping[str, Shape]) -> dict[str, Shape]:
        """The shapes with what the first value says of them."""
        known = {name: shape for name, shape in shapes.items() if shape and min(shape) >= 0}
        if len(known) < len(shapes):
            self._shapes = dict.fromkeys(shapes, ())
            first = self._next_values()
            self._rows = chain([first], self._rows)
            for name in shapes.keys() - known.keys():
                shape, value = shapes[name], tuple(np.shape(first[name]))
                known[name] = (*shape[:1], *value) if len(value) == len(shape) - 1 else value
        return {name: known[name] for name in shapes}

    def __next__(self) -> tuple[Tensor, ...]:
        start = time.perf_counter()
        values = self._next_values()
        if self._is_item(values):
            count = self._shapes[self._largest][0]
            items = [values, *(self._next_values() for _ in range(count - 1))]
            values = {name: _stacked(name, [item[name] for item in items]) for name in self._shapes}
        self.waited += time.perf_counter() - start
        self.position += 1
        return self._batch({name: _tensor(value) for name, value in values.items()})

    def _is_item(self, values: Mapping[str, Any]) -> bool:
        batch_shape, shape = self._shapes[self._largest], np.shape(values[self._largest])
        if len(shape) not in (len(batch_shape), len(batch_shape) - 1):
            expected = f"a batch has {len(batch_shape)} axes, as {list(batch_shape)}, and an item one less"
            raise DataError(f"'{self._largest}' has shape {list(shape)}; {expected}")
        return len(shape) < len(batch_shape)

    def _batch(self, tensors: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
        """Tensors with equally many items; labels may have axes of length 1 more or less than the net says.

        Those in the net's own shapes are taken as they are, since some nets read more boxes than images.
        """
        if all(tuple(tensors[name].shape) == shape for name, shape in self._shapes.items()):
            return tuple(tensors[name] for name in self._shapes)
        count = len(tensors[self._largest])
        return tuple(_reshaped(name, tensors[name], (count, *shape[1:])) for name, shape in self._shapes.items())

    def _next_values(self) -> Mapping[str, Any]:
        """The next values by blob."""
        rows = next(self._rows)
        named = rows if isinstance(rows, Mapping) else dict(zip(self._shapes, rows, strict=False))
        missing = [name for name in self._shapes if name not in named]
        if missing:
            values = ", ".join(named) if isinstance(rows, Mapping) else f"{len(rows)} arrays"
            raise DataError(
                f"there is no value for '{missing[0]}': the net needs {', '.join(self._shapes)}, the data have {values}"
            )
        return {name: named[name] for name in self._shapes}

    def _endless_rows(self) -> Iterator[Rows]:
        values = self._values
        if callable(values):
            while True:
                yield values()
        while True:
            rows = None
            for rows in values:
                yield rows
            if rows is None and not self.position:
                raise DataError("there are no data: the values that were given end before the first batch or item")
            if rows is None or iter(values) is values:
                raise DataError(
                    f"the data ended after {self.position} batches; give a list, or a function that returns the next "
                    "values, to begin again"
                )

    def seek(self, position: int) -> None:
        """Continue with the batch of this number; those before it are read and dropped."""
        if position < self.position:
            if callable(self._values) or iter(self._values) is self._values:
                raise DataError(
                    f"these data can't go back from batch {self.position} to batch {position}; give a list to allow it"
                )
            self._rows, self.position = self._endless_rows(), 0
        while self.position < position:
            next(self)

    def close(self) -> None:
        """Do nothing, since no file or thread is open."""


def _tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value.to(torch.float32)
    array = np.asarray(value, np.float32)
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def _stacked(name: str, items: list[Any]) -> Any:
    try:
        return torch.stack(items) if isinstance(items[0], Tensor) else np.stack([np.asarray(item) for item in items])
    except (ValueError, RuntimeError):
        shapes = sorted({str(list(np.shape(item))) for item in items})
        raise DataError(f"'{name}' has items of different shapes: {', '.join(shapes[:3])}") from None


def _reshaped(name: str, tensor: Tensor, shape: Shape) -> Tensor:
    if tensor.numel() == math.prod(shape):
        return tensor.reshape(shape)
    if tensor.dim() == len(shape) and len(tensor) == shape[0]:
        return tensor  # for nets that take images of any size
    raise DataError(f"'{name}' has shape {list(tensor.shape)}, which can't be reshaped to {list(shape)}")
