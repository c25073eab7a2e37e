"""One batch in the making: a tensor for each top, filled item by item from several threads."""

from __future__ import annotations

from threading import Lock

import numpy as np
import torch
from torch import Tensor

from netdsl.data.reading import ImageTransform, Random
from netdsl.data.source import Array, Item
from netdsl.errors import DataError, ShapeError

Shape = tuple[int, ...]


class Batch:
    """Batch `number` of `size` items, of which `missing` aren't there yet.

    The first item to come says what shape all have, as the first of the batch does in Caffe. `problem` is why the
    batch will never be complete; `skipped` are the reasons why items gave their place to the next.
    """

    def __init__(self, number: int, size: int, transform: ImageTransform | None, *, pinned: bool) -> None:
        self.number, self.size, self.missing = number, size, size
        self.tops: tuple[Tensor, ...] = ()
        self.skipped: list[str] = []
        self.problem: Exception | None = None
        self._transform, self._pinned, self._lock = transform, pinned, Lock()
        self._arrays: list[Array] = []

    def put(self, slot: int, item: Item, random: Random) -> None:
        """Put an item in its place."""
        shapes = [array.shape for array in item]
        if self._transform is not None:
            shapes[0] = self._transform.shape(*_image(shapes[0]))
        self._make_room(shapes)
        first, *others = self._arrays
        if self._transform is None:
            first[slot] = item[0]
        else:
            self._transform(item[0], random, out=first[slot])
        for target, array in zip(others, item[1:], strict=True):
            target[slot] = array

    def _make_room(self, shapes: list[Shape]) -> None:
        with self._lock:
            if not self._arrays:
                self.tops = tuple(self._empty((self.size, *shape)) for shape in shapes)
                self._arrays = [top.numpy() for top in self.tops]
        self._check(shapes)

    def _empty(self, shape: Shape) -> Tensor:
        """NumPy asks for huge pages, without which taking memory costs as much as filling it."""
        if self._pinned:
            return torch.empty(shape, pin_memory=True)
        return torch.from_numpy(np.empty(shape, np.float32))

    def _check(self, shapes: list[Shape]) -> None:
        wanted = [array.shape[1:] for array in self._arrays]
        if shapes != wanted:
            raise ShapeError(
                f"items of different shapes in one batch: {_text(shapes)} and {_text(wanted)}; "
                "bring images to one size with new_height and new_width, or crop_size, or take a batch_size of 1"
            )


def _image(shape: Shape) -> tuple[int, int, int]:
    if len(shape) != 3:
        raise DataError(f"transform_param is for images of channels, height and width; an item has shape {list(shape)}")
    return shape[0], shape[1], shape[2]


def _text(shapes: list[Shape]) -> str:
    return ", ".join("x".join(map(str, shape)) or "a number" for shape in shapes)
