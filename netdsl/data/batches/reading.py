"""Settings of batches: their contents, which a data layer states, and their loading, which the user chooses."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from netdsl.data.sources.source import Item, Source
from netdsl.data.transforms.transform import ImageTransform, ItemTransform
from netdsl.data.types import Shape

Collate = Callable[[Sequence[Item]], Item]


@dataclass(frozen=True)
class Reading:
    """The source of a data layer's batches, and the way from its items to batches of `batch_size`.

    `transforms` belong to the arrays of an item, in their order. An array without a transform stays as it is. The first
    `start` items of the first epoch are skipped. `groups` are the lengths of runs of items that are stored together,
    such as the rows of one file. Shuffling permutes the runs, and the items within each run, but never mixes two runs.

    `item_transform` transforms the arrays of an item together, such as an image with its boxes. `transforms` then apply
    to its results.

    The items of a batch have equal shapes and are stacked in its tops. If their shapes differ, as for the boxes of an
    image, `collate` creates the tops from all items of a batch, which then owns these arrays. In that case,
    `transforms` aren't applied.
    """

    source: Source
    batch_size: int
    transforms: tuple[ImageTransform | None, ...] = ()
    shuffle: bool = False
    start: int = 0
    groups: tuple[int, ...] = ()
    name: str = ""  # the name of the source, as its user writes it
    collate: Collate | None = None
    item_transform: ItemTransform | None = None


@dataclass(frozen=True)
class Intake:
    """The tops that a layer gets from outside: their shapes and the transform of their values, for any source.

    Shapes don't include the batch axis. A shape is `None` if only the data determine it. `transform` applies to the
    first top. With `gray`, encoded images are decoded without colors.
    """

    tops: tuple[str, ...]
    batch_size: int
    shapes: tuple[Shape | None, ...]
    transform: ImageTransform | None = None
    gray: bool = False


class BadItems(Enum):
    """The treatment of items that can't be read or decoded."""

    STOP = "stop"  # raises an error that names the item
    SKIP = "skip"  # uses the next item instead, and counts the bad one


@dataclass(frozen=True)
class Loading:
    """Settings for loading batches.

    `size` processes share the items. This process, number `rank`, reads every size-th item. Its batches have the size
    that the net states or, with `divided`, they are its part of such a batch. `workers` threads decode items, and up to
    `prefetch` batches are prepared before they are needed. A batch that takes longer than `deadline` seconds is an
    error. With `pinned`, batches use pinned memory, from which copying to a GPU is faster. Their images can be bytes,
    which are `finished` on the GPU.
    """

    seed: int = 0
    rank: int = 0
    size: int = 1
    divided: bool = False
    workers: int = min(8, os.cpu_count() or 1)
    prefetch: int = 3
    bad: BadItems = BadItems.STOP
    deadline: float = 600.0
    pinned: bool = False
