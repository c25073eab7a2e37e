"""A batch that is being filled, with a tensor for each top. Threads fill it whole or item by item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from threading import Lock

import numpy as np
import torch
from torch import Tensor

from netdsl.data.batches.reading import Collate
from netdsl.data.sources.source import Item
from netdsl.data.transforms.transform import ImageTransform, ItemTransform, Transform
from netdsl.data.types import Array, Random, Shape
from netdsl.errors import DataError, ShapeError


def sends_bytes(transform: ImageTransform | None, array: Array) -> bool:
    """Return whether a batch can contain such images as bytes.

    Images are resized, cropped and mirrored before. The mean must be the same for all pixels of a channel, which
    excludes a mean image.
    """
    return array.dtype == np.uint8 and isinstance(transform, Transform) and transform.mean_is_even


def finished(transforms: Sequence[ImageTransform | None], tops: Sequence[Tensor]) -> list[Tensor]:
    """Return the tops of a batch in float32, on the device where they are. Byte images get their mean and scale here.

    The result has the same bits as when each image is transformed separately. The arithmetic doesn't wait for a GPU,
    because its numbers come from Python.
    """
    return [
        _arithmetic(transform, top) if isinstance(transform, Transform) and top.dtype is torch.uint8 else top
        for transform, top in zip_longest(transforms[: len(tops)], tops)
    ]


def _arithmetic(transform: Transform, pixels: Tensor) -> Tensor:
    values = pixels.float()
    means = transform.even_mean(values.shape[-3])
    if len(set(means)) > 1:
        for channel, mean in zip(values.unbind(-3), means, strict=True):
            channel.sub_(mean)
    elif means and means[0]:
        values.sub_(means[0])
    return values.mul_(transform.scale) if transform.scale != 1 else values


class Batch:
    """Batch `number`, with `size` items, `missing` of which haven't arrived yet.

    The first item that arrives sets the shape of all items, as the first item of a batch does in Caffe. `problem` is
    the error that makes the batch fail. `skipped` lists the reasons why bad items were replaced by later ones.
    """

    def __init__(
        self,
        number: int,
        size: int,
        transforms: Sequence[ImageTransform | None],
        *,
        collate: Collate | None = None,
        item_transform: ItemTransform | None = None,
        pinned: bool = False,
    ) -> None:
        self.number, self.size, self.missing = number, size, size
        self.tops: tuple[Tensor, ...] = ()
        self.skipped: list[str] = []
        self._problems: dict[int, Exception] = {}  # by slot
        self._transforms, self._item_transform, self._collate = transforms, item_transform, collate
        self._pinned, self._lock = pinned, Lock()
        self._arrays: list[Array] = []  # views of the tops
        self._items: dict[int, Item] = {}  # by slot, collated when all have arrived

    @property
    def problem(self) -> Exception | None:
        """The error that makes the batch fail: that of its first bad item, regardless of the order of threads."""
        return self._problems[min(self._problems)] if self._problems else None

    def give_up(self, slot: int, problem: Exception) -> None:
        """Leave a slot empty because no item can be read for it."""
        self._problems.setdefault(slot, problem)
        self.missing -= 1

    def give_up_all(self, problem: Exception) -> None:
        """Leave all slots empty because of a problem with the whole batch."""
        self._problems, self.missing = {0: problem}, 0

    def put(self, slot: int, item: Item, random: Random) -> None:
        """Transform an item and store it in its slot. The last item of a collated batch collates all items."""
        if self._item_transform is not None:
            item = self._item_transform(item, random, self.number)
        if self._collate is not None:
            self._keep(slot, item, self._collate)
            return
        transforms = self._allocate(item, [array.shape for array in item])
        for transform, target, array in zip(transforms, self._arrays, item, strict=True):
            if transform is None:
                target[slot] = array
            else:
                transform(array, random, out=target[slot])

    def put_all(self, items: Item, random: Callable[[int], Random]) -> None:
        """Transform all items, which are arrays with a batch axis. `random` returns the generator for a slot."""
        transforms = self._allocate(items, [array.shape[1:] for array in items])
        needs_random = any(transform is not None and not transform.constant for transform in transforms)
        generators = [random(slot) for slot in range(self.size if needs_random else 1)]
        for transform, targets, arrays in zip(transforms, self._arrays, items, strict=True):
            if transform is None:
                targets[...] = arrays
            elif transform.constant:
                transform(arrays, generators[0], out=targets)
            else:
                for target, array, generator in zip(targets, arrays, generators, strict=True):
                    transform(array, generator, out=target)

    def _keep(self, slot: int, item: Item, collate: Collate) -> None:
        with self._lock:
            self._items[slot] = item
            complete = len(self._items) == self.size
        if complete:
            self.tops = tuple(map(self._top, collate([self._items[place] for place in range(self.size)])))

    def _top(self, values: Array) -> Tensor:
        if values.dtype == np.float32 and values.flags.c_contiguous and not self._pinned:
            return torch.from_numpy(values)
        top = self._empty(values.shape)
        top.numpy()[...] = values
        return top

    def _allocate(self, arrays: Item, shapes: list[Shape]) -> list[ImageTransform | None]:
        """Allocate the tops for items of these shapes, unless an earlier item did. Returns a transform for each
        array."""
        transforms = [*self._transforms[: len(shapes)], *[None] * (len(shapes) - len(self._transforms))]
        pairs = zip(transforms, shapes, strict=True)
        top_shapes = [shape if transform is None else transform.shape(*_image(shape)) for transform, shape in pairs]
        with self._lock:
            if not self._arrays:
                in_bytes = [self._pinned and sends_bytes(*pair) for pair in zip(transforms, arrays, strict=True)]
                self.tops = tuple(
                    self._empty((self.size, *shape), torch.uint8 if short else torch.float32)
                    for shape, short in zip(top_shapes, in_bytes, strict=True)
                )
                self._arrays = [top.numpy() for top in self.tops]
        self._check_shapes(top_shapes)
        return transforms

    def _empty(self, shape: Shape, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return an uninitialized tensor.

        NumPy allocates huge pages. Without them, allocating memory takes as long as filling it.
        """
        if self._pinned:
            return torch.empty(shape, dtype=dtype, pin_memory=True)
        return torch.from_numpy(np.empty(shape, np.float32))

    def _check_shapes(self, shapes: list[Shape]) -> None:
        first_shapes = [array.shape[1:] for array in self._arrays]
        if shapes != first_shapes:
            raise ShapeError(
                f"items in a batch have different shapes: {_in_words(shapes)} and {_in_words(first_shapes)}; "
                "resize images with new_height and new_width, set a crop_size, or use a batch_size of 1"
            )


def _image(shape: Shape) -> tuple[int, int, int]:
    if len(shape) != 3:
        raise DataError(
            f"transform_param needs images of channels, height and width, but an item has shape {list(shape)}; "
            "remove transform_param"
        )
    return shape[0], shape[1], shape[2]


def _in_words(shapes: list[Shape]) -> str:
    return ", ".join("x".join(map(str, shape)) or "a number" for shape in shapes)
