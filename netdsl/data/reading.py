"""What batches are made of, as a data layer says it, and how they are loaded, as whoever runs the net says it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np

from netdsl.data.source import Array, Source

Random = np.random.Generator


class ImageTransform(Protocol):
    """What becomes of an image on its way into a batch."""

    def shape(self, channels: int, height: int, width: int, /) -> tuple[int, int, int]:
        """The shape of what it makes of an image of this shape."""
        ...

    def __call__(self, image: Array, random: Random, out: Array) -> object:
        """Write what it makes of an image; chance is only what `random` says."""
        ...


@dataclass(frozen=True)
class Reading:
    """Batches of `batch_size` items of a source. The transform is for the first array of every item.

    The first `start` items are passed over at the beginning. `groups` are the lengths of runs of items that lie
    together, such as the rows of one file: shuffling mixes the runs, and each of them, but not one with another.
    """

    source: Source
    batch_size: int
    transform: ImageTransform | None = None
    shuffle: bool = False
    start: int = 0
    groups: tuple[int, ...] = ()


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
