"""Batches that the program gives: whole ones as they are, or single items that are put together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from netdsl.errors import DataError

Shape = tuple[int, ...]
Rows = Mapping[str, Any] | Sequence[Any]  # arrays or tensors by name, or in the order of the blobs
Values = Iterable[Rows] | Callable[[], Rows]


class UserBatches(Iterator[tuple[Tensor, ...]]):
    """A tensor for each of the blobs of these shapes, from an iterable or from a function that returns the next values.

    Values are a batch, or an item, as the blob with the largest items tells: an item has one axis less. Batches aren't
    copied. An iterable begins again at its end.
    """

    def __init__(self, values: Values, shapes: Mapping[str, Shape]) -> None:
        self._values, self._shapes = values, dict(shapes)
        self._largest = max(shapes, key=lambda name: math.prod(shapes[name][1:]))
        self._next = self._draws()
        self.position = 0
        self.waited = 0.0

    def __next__(self) -> tuple[Tensor, ...]:
        start = time.perf_counter()
        values = self._draw()
        if self._is_item(values):
            count = self._shapes[self._largest][0]
            items = [values, *(self._draw() for _ in range(count - 1))]
            values = {name: _stacked(name, [item[name] for item in items]) for name in self._shapes}
        self.waited += time.perf_counter() - start
        self.position += 1
        return self._batch({name: _tensor(value) for name, value in values.items()})

    def _is_item(self, values: Mapping[str, Any]) -> bool:
        shape, given = self._shapes[self._largest], np.shape(values[self._largest])
        if len(given) not in (len(shape), len(shape) - 1):
            what = f"a batch has {len(shape)} axes, as {list(shape)}, and an item one less"
            raise DataError(f"'{self._largest}' is given with shape {list(given)}; {what}")
        return len(given) < len(shape)

    def _batch(self, tensors: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
        """All blobs with as many items; labels may have axes of length 1 more or less than the net says."""
        count = len(tensors[self._largest])
        return tuple(_shaped(name, tensors[name], (count, *shape[1:])) for name, shape in self._shapes.items())

    def _draw(self) -> Mapping[str, Any]:
        """The next values by name."""
        found = next(self._next)
        named = found if isinstance(found, Mapping) else dict(zip(self._shapes, found, strict=False))
        missing = [name for name in self._shapes if name not in named]
        if missing:
            given = ", ".join(named) if isinstance(found, Mapping) else f"{len(found)} arrays"
            raise DataError(f"nothing is given for '{missing[0]}'; wanted are {', '.join(self._shapes)}, given {given}")
        return {name: named[name] for name in self._shapes}

    def _draws(self) -> Iterator[Rows]:
        values = self._values
        if callable(values):
            while True:
                yield values()
        while True:
            rows = None
            for rows in values:
                yield rows
            if rows is None or iter(values) is values:
                raise DataError(
                    f"the data ended after {self.position} batches; give a list, or a function that returns the next "
                    "values, to begin again"
                )

    def seek(self, position: int) -> None:
        """Go on with this batch: those before it are passed over."""
        if position < self.position:
            if callable(self._values) or iter(self._values) is self._values:
                raise DataError(f"data that was given can't go back from batch {self.position} to batch {position}")
            self._next, self.position = self._draws(), 0
        while self.position < position:
            next(self)

    def close(self) -> None:
        """Nothing is open."""


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


def _shaped(name: str, tensor: Tensor, shape: Shape) -> Tensor:
    if tensor.numel() == math.prod(shape):
        return tensor.reshape(shape)
    if tensor.dim() == len(shape) and len(tensor) == shape[0]:
        return tensor  # as a net that takes images of any size is given them
    raise DataError(f"'{name}' is given with shape {list(tensor.shape)}, which isn't {list(shape)}")
