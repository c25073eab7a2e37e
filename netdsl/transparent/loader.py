"""DataLoaders that read a rank's part of every batch. Samplers run completely on all ranks, so batches stay the
same."""

from __future__ import annotations

import random
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils.data import DataLoader, default_collate
from torch.utils.data import dataloader as torch_dataloader
from torch.utils.data._utils.pin_memory import pin_memory

from netdsl.transparent.batch_tensor import BatchTensor, Part, own_part, place
from netdsl.transparent.ranks import ScriptRanks


@dataclass(frozen=True)
class LoadedBatch:
    """A batch from the DataLoader's fetcher, which may run in another process."""

    values: Any
    items: int  # number of items in the whole batch
    is_whole: bool  # otherwise it is a rank's part
    digest: int  # identifies the batch's items

    def pin_memory(self, device: Any = None) -> LoadedBatch:
        """Return the batch in pinned memory. DataLoaders call this method."""
        return replace(self, values=pin_memory(self.values, device))  # type: ignore[no-untyped-call]


class DividedDataset:
    """A dataset that loads only a rank's part of a batch, unless the whole is needed.

    The whole is needed if the script has its own function to collate items. It is also needed if items draw random
    numbers, since all ranks must draw the same ones.
    """

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], rank: int, size: int) -> None:
        self.dataset, self.collate = dataset, collate
        self.rank, self.size = rank, size
        self.needs_whole = collate is not default_collate

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "dataset":
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitems__(self, indices: Sequence[Any]) -> LoadedBatch:
        digest = zlib.crc32(repr(list(indices)).encode())
        if not self.needs_whole and len(indices) >= self.size:
            values = self._own_part_of(indices)
            if not self.needs_whole:
                return LoadedBatch(values, len(indices), is_whole=False, digest=digest)
        return LoadedBatch(self.collate(self._items_at(indices)), len(indices), is_whole=True, digest=digest)

    def _own_part_of(self, indices: Sequence[Any]) -> Any:
        """Return a rank's part, and note whether the whole is needed instead."""
        count = len(indices)
        own = indices[count * self.rank // self.size : count * (self.rank + 1) // self.size]
        before = _RandomState()
        values = self.collate(self._items_at(own))
        leaves = pytree.tree_leaves(values)
        is_divisible = all(isinstance(leaf, Tensor) and leaf.ndim and len(leaf) == len(own) for leaf in leaves)
        if not is_divisible or _RandomState().digest != before.digest:
            before.restore()
            self.needs_whole = True
        return values

    def _items_at(self, indices: Sequence[Any]) -> Any:
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(indices)
        return [self.dataset[index] for index in indices]


class _RandomState:
    """The state of the random number generators that items may use."""

    def __init__(self) -> None:
        self._torch, self._python = torch.get_rng_state(), random.getstate()
        self._numpy = sys.modules["numpy"].random.get_state() if "numpy" in sys.modules else None
        numpy_state = None if self._numpy is None else (self._numpy[1].tobytes(), *self._numpy[2:])
        self.digest = (zlib.crc32(self._torch.numpy().data), hash(self._python), hash(numpy_state))

    def restore(self) -> None:
        """Restore the state, which undoes all later draws."""
        torch.set_rng_state(self._torch)
        random.setstate(self._python)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)


def _collated(batch: LoadedBatch) -> LoadedBatch:
    """Return a batch unchanged, since it is already collated."""
    return batch


@contextmanager
def divided_loaders(ranks: ScriptRanks, note: Callable[[str], object]) -> Iterator[None]:
    """Let all DataLoaders divide their batches among the ranks."""
    kind: Any = torch_dataloader._BaseDataLoaderIter
    begin, following = kind.__init__, kind.__next__

    def __init__(self: Any, loader: DataLoader[Any]) -> None:  # noqa: N807
        begin(self, loader)
        if self._dataset_kind == torch_dataloader._DatasetKind.Map and self._auto_collation:
            self._dataset = DividedDataset(self._dataset, self._collate_fn, ranks.rank, ranks.size)
            self._collate_fn = _collated
        else:
            note("the dataset of a DataLoader makes its own batches, so all ranks read and compute them whole")

    def __next__(self: Any) -> Any:  # noqa: N807
        batch = following(self)
        if not isinstance(batch, LoadedBatch):
            return batch
        ranks.note_batch(batch.digest)
        return placed(batch, ranks)

    kind.__init__, kind.__next__ = __init__, __next__
    try:
        yield
    finally:
        kind.__init__, kind.__next__ = begin, following


def placed(batch: LoadedBatch, ranks: ScriptRanks) -> Any:
    """Return the batch as the script sees it. All ranks compute a batch whole if it has fewer items than there are
    ranks."""
    placement = Part(0, batch.items)

    def place_part(tensor: Tensor) -> Tensor:
        if not batch.is_whole:
            return place(tensor, placement)
        is_batch = tensor.ndim > 0 and len(tensor) == batch.items >= ranks.size
        return divide(tensor) if is_batch else tensor

    return pytree.tree_map_only(Tensor, place_part, batch.values)


def divide(tensor: Tensor) -> BatchTensor:
    """Return this rank's part of a batch that all ranks have, along its first dimension."""
    placement = Part(0, len(tensor))
    return place(own_part(tensor, placement).contiguous(), placement)
