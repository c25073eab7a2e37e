"""Batches that a program passes in: whole batches, which stay as they are, or single items, which are stacked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from netdsl.data.tables.columns import fit_shape
from netdsl.data.types import Shape
from netdsl.errors import DataError

Rows = Mapping[str, Any] | Sequence[Any]  # arrays or tensors by blob, or in the order of the blobs
Values = Iterable[Rows] | Callable[[], Rows]
_MATRIX_AXES = 2  # the axes of items and channels, whose lengths every net fixes


def length_of(values: object) -> int | None:
    """Return the number of items or batches, or `None` if it is unknown, as for a generator."""
    try:
        return len(values) if isinstance(values, Sized) else None
    except TypeError:  # a DataLoader whose data set has no length
        return None


def values_by_blob(rows: Any, blobs: Sequence[str]) -> dict[str, Any]:
    """Return the values of an item, a batch or all data for each of these blobs.

    Raises a `DataError` that names the blobs if one is missing.
    """
    if isinstance(rows, (np.ndarray, Tensor)):
        rows = (rows,)
    if not isinstance(rows, (Mapping, Sequence)) or isinstance(rows, str):
        raise DataError(
            f"an item or a batch must be a dict or a tuple of arrays, not a {type(rows).__name__}; if a "
            "function makes a generator, call it and pass its result"
        )
    named = rows if isinstance(rows, Mapping) else dict(zip(blobs, rows, strict=False))
    if any(name not in named for name in blobs):
        count = f"{len(rows)} array{'' if len(rows) == 1 else 's'}"
        raise DataError(
            f"the net reads {in_quotes(blobs)}, but the items contain "
            f"{in_quotes(map(str, rows)) if isinstance(rows, Mapping) and rows else count}; pass a value for "
            "each blob"
        )
    return {name: named[name] for name in blobs}


def in_quotes(names: Iterable[str]) -> str:
    """Return names for a sentence: 'a', 'b' and 'c'."""
    *first, last = (f"'{name}'" for name in names)
    return f"{', '.join(first)} and {last}" if first else last


class UserBatches(Iterator[tuple[Tensor, ...]]):
    """An iterator over batches for blobs of these shapes, from an iterable or from a function that returns the next
    value.

    Each value is a batch, or an item, which has one axis fewer. The blob with the largest items decides between the
    two. Batches aren't copied. An iterable starts again at its end. Negative lengths and empty shapes are replaced by
    those of the first value, and `shapes` then contains them. With `batch`, this number of items is stacked, and whole
    batches must have this size.
    """

    def __init__(self, values: Values, shapes: Mapping[str, Shape], batch: int | None = None) -> None:
        if batch is not None:
            shapes = {name: (batch, *shape[1:]) if shape else shape for name, shape in shapes.items()}
        self._values, self._wanted = values, batch
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
        """Return the shapes, completed with those of the first value."""
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
            values = {name: stacked(name, [item[name] for item in items]) for name in self._shapes}
        elif self._wanted is not None and len(values[self._largest]) != self._wanted:
            raise DataError(
                f"the data come in batches of {len(values[self._largest])}, not of {self._wanted}; leave batch= out, "
                "or change it where the batches are made"
            )
        self.waited += time.perf_counter() - start
        self.position += 1
        return self._batch({name: as_tensor(name, value) for name, value in values.items()})

    def epoch_batches(self) -> Fraction | None:
        """Return how many batches the values fill before they start again, or `None` if that is unknown."""
        length = None if callable(self._values) else length_of(self._values)
        if length is None:
            return None
        first = self._next_values()
        self._rows = chain([first], self._rows)
        return Fraction(length, self._shapes[self._largest][0] if self._is_item(first) else 1)

    def _is_item(self, values: Mapping[str, Any]) -> bool:
        batch_shape, shape = self._shapes[self._largest], np.shape(values[self._largest])
        if len(shape) not in (len(batch_shape), len(batch_shape) - 1):
            expected = f"give a batch of {len(batch_shape)} axes, as {list(batch_shape)}, or an item of one axis fewer"
            raise DataError(f"'{self._largest}' has shape {list(shape)}; {expected}")
        return len(shape) < len(batch_shape)

    def _batch(self, tensors: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
        """Return tensors with equal numbers of items. Labels may have axes of length 1 that the net doesn't state, or
        lack them.

        Tensors in the net's own shapes are returned as they are, because some nets read more boxes than images.
        """
        if all(tuple(tensors[name].shape) == shape for name, shape in self._shapes.items()):
            return tuple(tensors[name] for name in self._shapes)
        count = len(tensors[self._largest])
        return tuple(_reshaped(name, tensors[name], (count, *shape[1:])) for name, shape in self._shapes.items())

    def _next_values(self) -> Mapping[str, Any]:
        """Return the next values by blob."""
        return values_by_blob(next(self._rows), list(self._shapes))

    def _endless_rows(self) -> Iterator[Rows]:
        values = self._values
        if callable(values):
            while True:
                try:
                    next_rows = values()
                except StopIteration:
                    raise DataError(
                        f"the function that returns the data ended after {self.position} batches; make it "
                        "return batches endlessly"
                    ) from None
                yield next_rows
        while True:
            rows: Rows | None = None
            for rows in values:
                yield rows
            if rows is None and not self.position:
                raise DataError("the data are empty; pass at least one batch or item")
            if rows is None or isinstance(values, Iterator):
                raise DataError(
                    f"the data ended after {self.position} batches; give a list, or a function that returns the "
                    "next values, so that they can start again"
                )

    def seek(self, position: int) -> None:
        """Continue with the batch of this number. The batches before it are read and dropped."""
        if position < self.position:
            if callable(self._values) or isinstance(self._values, Iterator):
                raise DataError(
                    f"these data can't go back from batch {self.position} to batch {position}; pass a list to allow it"
                )
            self._rows, self.position = self._endless_rows(), 0
        while self.position < position:
            next(self)

    def close(self) -> None:
        """Do nothing, because no file or thread is open."""


def as_tensor(name: str, value: Any) -> Tensor:
    """Return a value in float32. A read-only array is copied."""
    if isinstance(value, Tensor):
        return value.to(torch.float32)
    try:
        array = np.asarray(value, np.float32)
    except (ValueError, TypeError) as problem:
        raise DataError(
            f"'{name}' isn't an array of numbers: {problem}; convert it, as with np.asarray(values, np.float32)"
        ) from None
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def stacked(name: str, items: list[Any]) -> Any:
    """Return a blob's values for several items, stacked along a new first axis."""
    try:
        return torch.stack(items) if isinstance(items[0], Tensor) else np.stack([np.asarray(item) for item in items])
    except (ValueError, RuntimeError):
        shapes = sorted({str(list(np.shape(item))) for item in items})
        raise DataError(
            f"'{name}' has items of different shapes: {', '.join(shapes[:3])}; make all items the same size, or "
            "pass them in batches of one"
        ) from None


def fitted(name: str, shape: Shape, wanted: Shape | None) -> Shape:
    """Return the shape to which values of a blob are reshaped.

    Axes of length 1 may differ from the net's, and so may the size of images. Raises a `DataError` with both shapes if
    the values don't fit.
    """
    if wanted is None:
        return shape
    if shape[:1] == wanted[:1] and fit_shape(shape[1:], wanted[1:]) == wanted[1:]:
        return wanted
    if len(shape) == len(wanted) > _MATRIX_AXES and shape[:_MATRIX_AXES] == wanted[:_MATRIX_AXES]:
        return shape  # for nets that accept images of any size
    raise DataError(
        f"'{name}' has shape {list(shape)}, which can't be reshaped to {list(wanted)}; reshape the data, or set "
        "this shape in the net's input layer"
    )


def _reshaped(name: str, tensor: Tensor, wanted: Shape) -> Tensor:
    shape = fitted(name, tuple(tensor.shape), wanted)
    return tensor if tensor.shape == shape else tensor.reshape(shape)
