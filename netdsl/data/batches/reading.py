"""What batches are made of, as a data layer says it, and how they are loaded, as whoever runs the net says it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np

from netdsl.data.sources.source import Array, Source

Random = np.random.Generator


class ImageTransform(Protocol):
    """What becomes of an image on its way into a batch.

    One that is `constant` does the same to all images, and takes several of them in an array with one more axis.
    """

    constant: bool

    def shape(self, channels: int, height: int, width: int, /) -> tuple[int, int, int]:
        """The shape of what it makes of an image of this shape."""
        ...

    def __call__(self, image: Array, random: Random, out: Array) -> object:
        """Write what it makes of an image; chance is only what `random` says."""
        ...


@dataclass(frozen=True)
class Reading:
    """Batches of `batch_size` items of a source.

    The transforms are for the arrays of every item in their order; what has none, or None, stays as it is.

    The first `start` items are passed over at the beginning. `groups` are the lengths of runs of items that lie
    together, such as the rows of one file: shuffling mixes the runs, and each of them, but not one with another.
    """

    source: Source
    batch_size: int
    transforms: tuple[ImageTransform | None, ...] = ()
    shuffle: bool = False
    start: int = 0
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class Intake:
    """What a layer whose tops come from outside takes of every item, whatever source that is from.

    A top's shape, without the batch, is None where only the data say it. The transform is for the first top; `gray`
    images are decoded without colours.
    """

    tops: tuple[str, ...]
    batch_size: int
    shapes: tuple[tuple[int, ...] | None, ...]
    transform: ImageTransform | None = None
    gray: bool = False


class Bad(Enum):
    """What an item that can't be read or decoded does."""

    STOP = "stop"  # an error that says where it is
    SKIP = "skip"  # the next item takes its place, and it is counted


@dataclass(frozen=True)
class Loading:
    """How batches are loaded.

    This is process `rank` of `size` that share the items: each takes every size-th. Each has batches as big as the net
    says, or, if the batch is `divided`, they do so together. `workers` threads decode, and up to
    `ahead` batches are made before they are asked for. Whoever waits longer than `deadline` seconds for one is told
    what it waits for. `pinned` batches go to a GPU without another copy.
    """

    seed: int = 0
    rank: int = 0
    size: int = 1
    divided: bool = False
    workers: int = min(8, os.cpu_count() or 1)
    ahead: int = 3
    bad: Bad = Bad.STOP
    deadline: float = 600.0
    pinned: bool = False
