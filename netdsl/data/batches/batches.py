"""Endless batches of a source, made by threads before they are needed."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from torch import Tensor

from netdsl.data.batches.batch_threads import BatchThreads
from netdsl.data.batches.reading import Loading, Reading
from netdsl.data.sources.order import SEEDS, Order
from netdsl.data.types import Shape
from netdsl.errors import DataError

_MOST_REASONS = 10  # of skipped items that are logged

_log = logging.getLogger(__name__)


class Batches(Iterator[tuple[Tensor, ...]]):
    """An iterator over batches, each a tensor for every top. After a source's last item comes its first again.

    Batch n follows from the source, the seed, n and the rank alone. So `position`, the number of batches handed out, is
    all that a snapshot has to keep, and `seek` continues from there. Threads start when the first batch is asked for.
    Closing the batches closes the source.
    """

    def __init__(self, reading: Reading, loading: Loading | None = None) -> None:
        self.reading, self._loading = reading, loading or Loading()
        self._order = _order(reading, self._loading)
        self._threads: BatchThreads | None = None
        self._closed = False
        self.position = 0
        self.waited = 0.0  # seconds that callers waited for batches
        self.skipped = 0  # bad items of the batches that were handed out
        self.reasons: list[str] = []  # why the first of them were skipped

    def __next__(self) -> tuple[Tensor, ...]:
        start = time.perf_counter()
        try:
            batch = self._running_threads().take(self.position)
        finally:
            self.waited += time.perf_counter() - start
        self.position += 1
        for reason in batch.skipped:
            self._note_skipped(reason)
        return batch.tops

    def shapes(self) -> list[Shape]:
        """The shapes of the next batch, which stays the next one."""
        return [tuple(top.shape) for top in self._running_threads().wait(self.position).tops]

    def seek(self, position: int) -> None:
        """Continue with the batch of this number, as if those before it had been handed out."""
        if position < 0:
            raise DataError(f"there is no batch {position}; the first is 0")
        if position != self.position and not self._stop_threads():
            self._closed = True  # the source stays open for the thread that still reads it
            raise DataError("these batches can't go on elsewhere, since a thread still waits for their source")
        self.position = position

    def _running_threads(self) -> BatchThreads:
        if self._closed:
            raise DataError("these batches are closed")
        if self._threads is None:
            self._threads = BatchThreads(self.reading, self._loading, self._order, self.position)
            self._finalizer = weakref.finalize(self, self._threads.close)  # also when the interpreter exits
        return self._threads

    def _stop_threads(self) -> bool:
        """End the threads, if there are any; return whether all ended."""
        if self._threads is None:
            return True
        self._threads = None
        return bool(self._finalizer())

    def _note_skipped(self, reason: str) -> None:
        self.skipped += 1
        if len(self.reasons) < _MOST_REASONS:
            self.reasons.append(reason)
            _log.warning("skipped an item: %s", reason)

    def close(self) -> None:
        """End all threads and close the source, unless a thread still reads from it after some seconds."""
        if not self._closed and self._stop_threads():
            self.reading.source.close()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _order(reading: Reading, loading: Loading) -> Order:
    """The order in which a source's items come; a DataError for settings that can't be."""
    if reading.batch_size < 1 or loading.workers < 1 or loading.prefetch < 1:
        raise DataError("batch_size, workers and prefetch must be at least 1")
    length = len(reading.source)
    if not length:
        raise DataError("the source has no items")
    if not 0 <= reading.start < length:
        raise DataError(f"{reading.start} items should be skipped at the start, but there are only {length}")
    if not 0 <= loading.rank < loading.size:
        raise DataError(f"rank {loading.rank} of {loading.size}: ranks go from 0 to {loading.size - 1}")
    if not 0 <= loading.seed < SEEDS:
        raise DataError(f"seed {loading.seed} must be from 0 to 2^63 - 1")
    groups = reading.groups or (length,)
    return Order(groups, reading.shuffle, loading.seed, reading.start, loading.rank, loading.size)
