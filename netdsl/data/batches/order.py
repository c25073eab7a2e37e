"""Which item comes when: an endless sequence that is known in full beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from netdsl.data.batches.reading import Loading, Random, Reading
from netdsl.data.sources.source import Indices
from netdsl.errors import DataError

_SEEDS = 1 << 63  # more than these the generator below can't tell apart


@dataclass(frozen=True)
class Order:
    """The items of a source again and again, in their order or shuffled anew each time.

    A place is a position in the sequence that all ranks share. Everything follows from the place and the seed, so a
    run can go on anywhere, and ranks need not talk.
    """

    groups: tuple[int, ...]
    shuffle: bool = False
    seed: int = 0
    start: int = 0
    rank: int = 0
    size: int = 1

    @classmethod
    def of(cls, reading: Reading, loading: Loading) -> Order:
        """The order of what is read."""
        length = len(reading.source)
        if not length:
            raise DataError("the source has no items")
        if not 0 <= reading.start < length:
            raise DataError(f"{reading.start} items should be passed over, but there are only {length}")
        if not 0 <= loading.rank < loading.size:
            raise DataError(f"rank {loading.rank} of {loading.size}: ranks go from 0 to {loading.size - 1}")
        if not 0 <= loading.seed < _SEEDS:
            raise DataError(f"seed {loading.seed} must be from 0 to 2^63 - 1")
        groups = reading.groups or (length,)
        return cls(groups, reading.shuffle, loading.seed, reading.start, loading.rank, loading.size)

    def __len__(self) -> int:
        return sum(self.groups)

    def place(self, number: int) -> int:
        """Where the item is that this rank takes after `number` others. Caffe's rule: every size-th is ours."""
        return self.start + number * self.size + self.rank

    def index(self, place: int) -> int:
        """Which item is there."""
        epoch, at = divmod(place, len(self))
        return int(_permutation(self.seed, epoch, self.groups)[at]) if self.shuffle else at

    def indices(self, number: int, count: int) -> Indices:
        """The items that this rank takes one after the other, after `number` others."""
        epochs, at = np.divmod(self.place(number) + self.size * np.arange(count), len(self))
        if self.shuffle:
            for epoch in np.unique(epochs).tolist():
                here = epochs == epoch
                at[here] = _permutation(self.seed, epoch, self.groups)[at[here]]
        return at

    def random(self, place: int) -> Random:
        """The random numbers of that place."""
        return np.random.Generator(np.random.Philox(key=[self.seed, place]))


@lru_cache(maxsize=4)
def _permutation(seed: int, epoch: int, groups: tuple[int, ...]) -> Indices:
    random, ends = np.random.default_rng([seed, epoch]), np.cumsum(groups)
    order = random.permutation(len(groups))
    return np.concatenate([ends[group] - 1 - random.permutation(groups[group]) for group in order])
