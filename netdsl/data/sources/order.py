"""The order of items: an endless sequence, shuffled or not, any part of which can be computed directly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from netdsl.data.sources.source import Indices
from netdsl.data.types import Random

SEEDS = 1 << 63  # the number of seeds that the generator of `Order.random` distinguishes


@dataclass(frozen=True)
class Order:
    """The items of a source, epoch after epoch, in the source's order or shuffled again in each epoch.

    `groups` are the lengths of runs of items that shuffling doesn't mix. A place is a position in the sequence that all
    ranks share. The item at a place depends only on the place and the seed. So a run can be resumed anywhere, and ranks
    needn't communicate.
    """

    groups: tuple[int, ...]
    shuffle: bool = False
    seed: int = 0
    start: int = 0
    rank: int = 0
    size: int = 1

    def __len__(self) -> int:
        return sum(self.groups)

    def place(self, number: int) -> int:
        """Return the place of the item that this rank reads after `number` others. As in Caffe, it reads every size-th
        item."""
        return self.start + number * self.size + self.rank

    def index(self, place: int) -> int:
        """Return the index in the source of the item at a place."""
        epoch, position = divmod(place, len(self))
        return int(_permutation(self.seed, epoch, self.groups)[position]) if self.shuffle else position

    def indices(self, number: int, count: int) -> Indices:
        """Return the indices of `count` consecutive items of this rank, after `number` others."""
        epochs, positions = np.divmod(self.place(number) + self.size * np.arange(count), len(self))
        if self.shuffle:
            for epoch in np.unique(epochs).tolist():
                in_epoch = epochs == epoch
                positions[in_epoch] = _permutation(self.seed, epoch, self.groups)[positions[in_epoch]]
        return positions

    def random(self, place: int) -> Random:
        """Return the generator of random numbers for a place."""
        return np.random.Generator(np.random.Philox(key=[self.seed, place]))


@lru_cache(maxsize=4)
def _permutation(seed: int, epoch: int, groups: tuple[int, ...]) -> Indices:
    random, ends = np.random.default_rng([seed, epoch]), np.cumsum(groups)
    order = random.permutation(len(groups))
    return np.concatenate([ends[group] - 1 - random.permutation(groups[group]) for group in order])
