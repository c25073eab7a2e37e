"""One batch in the making: a tensor for each top, filled at once, or item by item from several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
import torch
from torch import Tensor

from netdsl.data.batches.reading import ImageTransform, Random
from netdsl.data.sources.source import Array, Item
from netdsl.errors import DataError, ShapeError

Shape = tuple[int, ...]


class Batch:
    """Batch `number` of `size` items, of which `missing` aren't there yet.

    The first item to come says what shape all have, as the first of the batch does in Caffe. `problem` is why the
    batch will never be complete; `skipped` are the reasons why items gave their place to the next.
    """

    def __init__(self, number: int, size: int, transforms: Sequence[ImageTransform | None], *, pinned: bool) -> None:
        self.number, self.size, self.missing = number, size, size
        self.tops: tuple[Tensor, ...] = ()
        self.skipped: list[str] = []
        self.problem: Exception | None = None
        self._transforms, self._pinned, self._lock = transforms, pinned, Lock()
        self._arrays: list[Array] = []

    def put(self, slot: int, item: Item, random: Random) -> None:
        """Put an item in its place."""
        transforms = self._make_room([array.shape for array in item])
        for transform, target, array in zip(transforms, self._arrays, item, strict=True):
            if transform is None:
                target[slot] = array
            else:
                transform(array, random, out=target[slot])

    def put_all(self, items: Item, random: Callable[[int], Random]) -> None:
        """Put all items in their places, from arrays with one more axis; `random` is for the one in a slot."""
        transforms = self._make_room([array.shape[1:] for array in items])
        chance = any(transform is not None and not transform.constant for transform in transforms)
        randoms = [random(slot) for slot in range(self.size if chance else 1)]
        for transform, targets, arrays in zip(transforms, self._arrays, items, strict=True):
            if transform is None:
                targets[...] = arrays
            elif transform.constant:
                transform(arrays, randoms[0], out=targets)
            else:
                for target, array, own in zip(targets, arrays, randoms, strict=True):
                    transform(array, own, out=target)

    def _make_room(self, shapes: list[Shape]) -> list[ImageTransform | None]:
        """Have memory for items of these shapes; the transforms of their arrays come back."""
        transforms = [*self._transforms[: len(shapes)], *[None] * (len(shapes) - len(self._transforms))]
        pairs = zip(transforms, shapes, strict=True)
        made = [shape if transform is None else transform.shape(*_image(shape)) for transform, shape in pairs]
        with self._lock:
            if not self._arrays:
                self.tops = tuple(self._empty((self.size, *shape)) for shape in made)
                self._arrays = [top.numpy() for top in self.tops]
        self._check(made)
        return transforms

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
