"""Readers for programs of any kind: the items of a source as numpy arrays, shared among processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np

from netdsl.closing import ClosedAtEnd
from netdsl.data.sources.hdf5 import Hdf5Source
from netdsl.data.sources.open_source import open_source
from netdsl.data.sources.order import SEEDS, Order
from netdsl.data.sources.source import Indices, Item, Source, WholeSource
from netdsl.data.sources.view import array_names_of
from netdsl.data.tables.columns import in_net_types
from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.ranks import Ranks, ranks_in, started_by_mpiexec
from netdsl.storage.local_copies import with_local_paths

Arrays = dict[str, Array]


def open_reader(
    name: str,
    *,
    batch_size: int = 64,
    rank: int | None = None,
    size: int | None = None,
    shuffle: bool = False,
    seed: int = 0,
    drop_last: bool = False,
) -> Reader:
    """Open a reader of a source such as `mnist:FOLDER`, `data.nc?x=images&y=labels` or `table.parquet`.

    It reads the share of process `rank` of `size`. By default, torchrun, mpiexec or srun sets both in the environment.
    Without them, the reader reads all items.
    """
    ranks = _ranks(rank, size)
    source = open_source(with_local_paths(name), in_parallel=rank is None and started_by_mpiexec(os.environ))
    try:
        return Reader(source, batch_size, ranks, shuffle=shuffle, seed=seed, drop_last=drop_last)
    except DataError as problem:
        source.close()
        raise DataError(f"{name}: {problem}") from None


class Reader(ClosedAtEnd):
    """The share of a source's items that one of several processes reads, in batches of numpy arrays by name.

    In each epoch, every item belongs to exactly one process. As in Caffe, a process reads every size-th item in the
    order of the source. With `shuffle`, the order is new in each epoch. Bytes stay bytes, and all other values are
    float32.

    Iterating reads the rest of an epoch. Processes differ by at most one batch. With `drop_last`, they have equally
    many batches, all of them full, and the remaining items are left out. `position` counts the batches that were read,
    over all epochs.
    """

    def __init__(
        self,
        source: Source,
        batch_size: int,
        ranks: Ranks,
        *,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if batch_size < 1:
            raise DataError(f"batch_size is {batch_size}; set it to 1 or more")
        if not 0 <= seed < SEEDS:
            raise DataError(f"the seed is {seed}; set it to a number from 0 to 2^63 - 1")
        if drop_last and len(source) < batch_size * ranks.size:
            raise DataError(
                f"{len(source)} items aren't enough for a batch of {batch_size} in each of {ranks.size} processes; "
                "use a smaller batch_size"
            )
        self.source, self.batch_size, self.rank, self.size = source, batch_size, ranks.rank, ranks.size
        self.position = 0
        self._groups = source.rows if isinstance(source, Hdf5Source) else (len(source),)
        self._shuffle, self._seed = shuffle, seed
        share = len(range(self.rank, len(source), self.size))
        self._count = len(source) // (batch_size * self.size) * batch_size if drop_last else share

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return -(-self._count // self.batch_size)

    @property
    def epoch(self) -> int:
        """The epoch to which the next batch belongs."""
        return self.position // max(1, len(self))

    @property
    def in_parallel(self) -> bool:
        """Whether all processes opened the file together with MPI. Otherwise each process opened it separately."""
        return isinstance(self.source, ParallelSource) and self.source.in_parallel

    def indices(self) -> Indices:
        """Return the places in the source of all items that this process reads in the current epoch."""
        return self._indices(self.epoch, 0, self._count)

    def arrays(self) -> Arrays:
        """Return all items of this process in the current epoch at once."""
        return self._read(self.indices())

    def __iter__(self) -> Iterator[Arrays]:
        """Read the remaining batches of the current epoch."""
        for _ in range(len(self) - self.position % max(1, len(self))):
            epoch, number = divmod(self.position, len(self))
            first = number * self.batch_size
            batch = self._read(self._indices(epoch, first, min(self.batch_size, self._count - first)))
            self.position += 1
            yield batch

    def seek(self, position: int) -> None:
        """Continue with the batch of this number, as if the batches before it had been read."""
        if position < 0:
            raise DataError(f"there is no batch {position}; use a number from 0 on")
        self.position = position

    def close(self) -> None:
        """Close the source."""
        self.source.close()

    def _indices(self, epoch: int, first: int, count: int) -> Indices:
        start = epoch * len(self.source)
        return Order(self._groups, self._shuffle, self._seed, start, self.rank, self.size).indices(first, count)

    def _read(self, indices: Indices) -> Arrays:
        if not len(indices):  # all items have the same shapes, so item 0 supplies them
            return {name: array[:0] for name, array in self._read(np.zeros(1, np.int64)).items()}
        arrays = _take(self.source, indices)
        return dict(zip(array_names_of(self.source, len(arrays)), map(in_net_types, arrays), strict=True))


@runtime_checkable
class ParallelSource(Protocol):
    """A source whose file may have been opened by all processes together."""

    in_parallel: bool


def _take(source: Source, indices: Indices) -> Item:
    """Return the arrays of some items, stacked along a new first axis."""
    if isinstance(source, WholeSource):
        try:
            arrays = source.take(indices)
        except DataError:  # reading single items finds the bad one
            arrays = None
        if arrays is not None:
            return arrays
    items = [source.item(source.fetch(index)) for index in indices.tolist()]
    try:
        return tuple(np.stack(values) for values in zip(*items, strict=True))
    except ValueError:
        raise DataError("items have different shapes; read them one by one, with batch_size=1") from None


def _ranks(rank: int | None, size: int | None) -> Ranks:
    if (rank is None) != (size is None):
        raise DataError("only one of rank and size is given; give both, or neither if the environment sets them")
    given = None if rank is None or size is None else Ranks(rank, size)
    ranks = given or ranks_in(os.environ) or Ranks(0, 1)
    if not 0 <= ranks.rank < ranks.size:
        raise DataError(
            f"the rank is {ranks.rank}, but with {ranks.size} processes it must be from 0 to {ranks.size - 1}; "
            "pass rank and size of this process, or neither"
        )
    return ranks
