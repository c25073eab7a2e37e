"""Batches without an end, made ahead of whoever takes them."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from torch import Tensor

from netdsl.data.batches.batch_threads import BatchThreads
from netdsl.data.batches.order import Order
from netdsl.data.batches.reading import Loading, Reading
from netdsl.errors import DataError

_MOST_REASONS = 10  # of skipped items that are told

_log = logging.getLogger(__name__)


class Batches(Iterator[tuple[Tensor, ...]]):
    """Each batch has a tensor for every top. After the last item of the source comes the first again.

    Batch n follows from the source, the seed, n and the rank alone. So `position`, the number of batches that were
    handed out, is all that has to be kept of a run, and `seek` goes on from there. Threads begin to work when the first
    batch is asked for. The source is closed along with the batches.
    """

    def __init__(self, reading: Reading, loading: Loading | None = None) -> None:
        self._reading, self._loading = reading, loading or Loading()
        self._check()
        self._order = Order.of(reading, self._loading)
        self._crew: BatchThreads | None = None
        self._closed = False
        self.position = 0
        self.waited = 0.0  # seconds that batches weren't there when they were asked for
        self.skipped = 0  # items that were bad, in batches that were handed out
        self.reasons: list[str] = []  # why the first of them were

    def _check(self) -> None:
        if self._reading.batch_size < 1 or self._loading.workers < 1 or self._loading.ahead < 1:
            raise DataError("batch_size, workers and ahead must be at least 1")

    def __next__(self) -> tuple[Tensor, ...]:
        start = time.perf_counter()
        try:
            batch = self._working().take(self.position)
        finally:
            self.waited += time.perf_counter() - start
        self.position += 1
        for reason in batch.skipped:
            self._note(reason)
        return batch.tops

    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the next batch, which stays the next."""
        return [tuple(top.shape) for top in self._working().wait(self.position).tops]

    def seek(self, position: int) -> None:
        """Go on with this batch, as if so many had been handed out."""
        if position < 0:
            raise DataError(f"there is no batch {position}; the first is 0")
        if position != self.position and not self._dismiss():
            self._closed = True  # the source stays open for that thread
            raise DataError("these batches can't go on elsewhere, since a thread still waits for their source")
        self.position = position

    def _working(self) -> BatchThreads:
        if self._closed:
            raise DataError("these batches are closed")
        if self._crew is None:
            self._crew = BatchThreads(self._reading, self._loading, self._order, self.position)
            self._forgotten = weakref.finalize(self, self._crew.close)  # also when the interpreter exits
        return self._crew

    def _dismiss(self) -> bool:
        """End the threads that there are; whether they did."""
        if self._crew is None:
            return True
        self._crew = None
        return bool(self._forgotten())

    def _note(self, reason: str) -> None:
        self.skipped += 1
        if len(self.reasons) < _MOST_REASONS:
            self.reasons.append(reason)
            _log.warning("skipped an item: %s", reason)

    def close(self) -> None:
        """End all threads and close the source, unless a thread still reads from it after some seconds."""
        if not self._closed and self._dismiss():
            self._reading.source.close()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
