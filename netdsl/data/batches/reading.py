"""Settings of batches: what they are made of, as a data layer says, and how they are loaded, as a net's user says."""

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
    """The source of a data layer's batches, and how its items become batches of `batch_size`.

    `transforms` are for the arrays of an item, in their order; an array with None, or without any, stays as it is.
    The first `start` items of the first epoch are skipped. `groups` are the lengths of runs of items that lie together,
    such as the rows of one file: shuffling permutes the runs, and the items within each run, but never mixes two runs.

    Where the arrays of an item are transformed together, such as an image with its boxes, `item_transform` does it, and
    the others are for what comes of it.

    The items of a batch lie one behind the other in its tops, and have equal shapes. Where they have not, `collate`
    makes the tops of them, in arrays that become the batch's own, such as the rows of all boxes, of which an image has
    any number; `transforms` aren't applied then.
    """

    source: Source
    batch_size: int
    transforms: tuple[ImageTransform | None, ...] = ()
    shuffle: bool = False
    start: int = 0
    groups: tuple[int, ...] = ()
    name: str = ""  # of the source, as its user writes it
    collate: Collate | None = None
    item_transform: ItemTransform | None = None


@dataclass(frozen=True)
class Intake:
    """The tops that a layer takes from outside: their shapes and the transform of their values, for any source.

    A shape has no batch axis; it is None where only the data say it. `transform` is for the first top. With `gray`,
    encoded images are decoded without colours.
    """

    tops: tuple[str, ...]
    batch_size: int
    shapes: tuple[Shape | None, ...]
    transform: ImageTransform | None = None
    gray: bool = False


class BadItems(Enum):
    """What happens to an item that can't be read or decoded."""

    STOP = "stop"  # an error that says which one it is
    SKIP = "skip"  # the next item takes its place, and it is counted


@dataclass(frozen=True)
class Loading:
    """How batches are loaded.

    `size` processes share the items, of which this one, number `rank`, takes every size-th. Each process makes batches
    as large as the net says or, with `divided`, its part of one such batch. `workers` threads decode items, and up to
    `prefetch` batches are made before they are needed. Waiting for a batch longer than `deadline` seconds is an error.
    With `pinned`, batches lie in pinned memory, from which a GPU copies faster, and images in them may be bytes, which
    are to be `finished` there.
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
