"""Endless batches of a source, which threads prepare before they are needed."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from torch import Tensor

from netdsl.closing import ClosedAtEnd
from netdsl.data.batches.batch import Batch
from netdsl.data.batches.reading import BadItems, Loading, Reading
from netdsl.data.sources.order import SEEDS, Order
from netdsl.data.sources.source import Item, WholeSource, count_of
from netdsl.data.types import Random, Shape
from netdsl.errors import DataError

_MOST_BAD_IN_A_ROW = 1000  # bad items, after which a source is given up
_MOST_PER_TASK = 16  # items that a thread decodes before it looks for other work
_JOIN_SECONDS = 5.0  # closing waits this long for a thread that may be waiting for a disk
_MOST_REASONS = 10  # for skipped items, in the log
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Slot:
    """A position in a batch, and the number of items that have been tried for it."""

    batch: Batch
    position: int
    tries: int = 0

    @property
    def number(self) -> int:
        """The number of the slot in the sequence of this rank's items."""
        return self.batch.number * self.batch.size + self.position


class BatchThreads:
    """Threads that prepare up to `prefetch` batches ahead, beginning with batch `first`.

    They hold no reference to the iterator that takes the batches, so that garbage collection of an abandoned iterator
    ends them. One lock guards the shared state. The fetching thread waits for room, the decoding threads wait for
    fetched items, and the iterator waits for a complete batch.
    """

    def __init__(self, reading: Reading, loading: Loading, order: Order, first: int) -> None:
        self._reading, self._loading, self._order = reading, loading, order
        one_by_one = reading.collate or reading.item_transform
        self._whole = reading.source if isinstance(reading.source, WholeSource) and not one_by_one else None
        lock = threading.RLock()
        self._room, self._work, self._ready = (threading.Condition(lock) for _ in range(3))
        self._closed = False
        self._next_to_take, self._next_to_begin = first, first  # the numbers of batches
        self._batches: dict[int, Batch] = {}
        self._to_fetch: deque[Batch | list[Slot]] = deque()
        self._to_decode: deque[Callable[[], None]] = deque()
        self._fetching: int | None = None  # the item that is being read, which the error after the deadline names
        self._threads: list[threading.Thread] = []
        try:
            for work in (self._run_fetching, *[self._run_decoding] * loading.workers):
                self._start_thread(work)
        except RuntimeError:  # the system doesn't allow this many threads
            self.close()
            raise

    def _start_thread(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="netdsl batches", daemon=True)
        thread.start()
        self._threads.append(thread)

    def wait(self, number: int) -> Batch:
        """Wait until a batch is complete.

        Raises the batch's error if it fails, and a `DataError` after the deadline.
        """
        with self._ready:
            ready = self._ready.wait_for(lambda: self._is_ready(number), self._loading.deadline)
            batch = self._batches.get(number)
        if batch is not None and batch.problem is not None:
            raise batch.problem
        if batch is None or not ready:
            raise DataError(
                f"batch {number} wasn't ready after {self._loading.deadline:g} s: {self._delay()}; check the "
                "storage, or use a longer deadline"
            )
        return batch

    def take(self, number: int) -> Batch:
        """Wait for a batch and remove it, which makes room for another batch."""
        batch = self.wait(number)
        with self._room:
            self._next_to_take = number + 1
            del self._batches[number]
            self._room.notify()
        return batch

    def _is_ready(self, number: int) -> bool:
        batch = self._batches.get(number)
        return batch is not None and not batch.missing

    def _delay(self) -> str:
        if self._fetching is not None:
            return f"item {self._fetching} is still being read; check its disk or network"
        return "its items are still being decoded; use more workers or a longer deadline"

    def close(self) -> bool:
        """End all threads, and return whether all ended. A thread that waits for a disk may not end in time."""
        with self._room:
            self._closed = True
            self._room.notify()
            self._work.notify_all()
        for thread in self._threads:
            if (
                thread is not threading.current_thread()
            ):  # this thread may be running the garbage collection that closes the batches
                thread.join(_JOIN_SECONDS)
        return not any(thread.is_alive() for thread in self._threads)

    def _run_fetching(self) -> None:
        while (task := self._next_to_fetch()) is not None:
            if isinstance(task, Batch):
                self._fetch_whole(task)
            else:
                self._fetch_items(task)

    def _next_to_fetch(self) -> Batch | list[Slot] | None:
        """Return the next task of fetching once there is room for it, or `None` when the threads are closed."""
        with self._room:
            self._room.wait_for(lambda: self._closed or self._to_fetch or self._has_room())
            if self._closed:
                return None
            if not self._to_fetch:
                self._begin_batch()
            return self._to_fetch.popleft()

    def _has_room(self) -> bool:
        return self._next_to_begin < self._next_to_take + self._loading.prefetch

    def _begin_batch(self) -> None:
        reading = self._reading
        batch = Batch(
            self._next_to_begin,
            reading.batch_size,
            reading.transforms,
            collate=reading.collate,
            item_transform=reading.item_transform,
            pinned=self._loading.pinned,
        )
        self._batches[self._next_to_begin] = batch
        self._next_to_begin += 1
        if self._whole is not None:
            self._to_fetch.append(batch)
        else:
            self._queue_items(batch)

    def _queue_items(self, batch: Batch) -> None:
        """Put the items of a batch at the front of the queue, to be fetched one by one."""
        count = max(1, min(_MOST_PER_TASK, batch.size // (2 * self._loading.workers)))
        slots = [Slot(batch, position) for position in range(batch.size)]
        groups = [slots[start : start + count] for start in range(0, batch.size, count)]
        with self._room:
            self._to_fetch.extendleft(reversed(groups))
            self._room.notify()

    def _fetch_whole(self, batch: Batch) -> None:
        assert self._whole is not None
        try:
            indices = self._order.indices(batch.number * batch.size, batch.size)
            self._fetching = int(indices[0])
            items = self._whole.take(indices)
        except Exception as problem:
            self._reject_whole(batch, problem)
            return
        if items is None:
            self._queue_items(batch)
        else:
            self._queue_decoding(partial(self._decode_whole, batch, items))

    def _fetch_items(self, slots: list[Slot]) -> None:
        stored_items: list[tuple[Slot, Any]] = []
        for slot in slots:
            self._fetch_item(slot, stored_items)
        self._queue_decoding(partial(self._decode_items, stored_items))

    def _fetch_item(self, slot: Slot, stored_items: list[tuple[Slot, Any]]) -> None:
        if self._closed:
            return
        try:
            self._fetching = self._order.index(self._place(slot))
            stored_items.append((slot, self._reading.source.fetch(self._fetching)))
        except Exception as problem:
            self._reject(slot, problem)

    def _queue_decoding(self, task: Callable[[], None]) -> None:
        with self._work:
            self._fetching = None
            self._to_decode.append(task)
            self._work.notify()

    def _run_decoding(self) -> None:
        while (task := self._next_to_decode()) is not None:
            task()

    def _next_to_decode(self) -> Callable[[], None] | None:
        with self._work:
            self._work.wait_for(lambda: self._closed or self._to_decode)
            return None if self._closed else self._to_decode.popleft()

    def _decode_whole(self, batch: Batch, items: Item) -> None:
        try:
            batch.put_all(items, lambda position: self._random(Slot(batch, position)))
        except Exception as problem:
            self._reject_whole(batch, problem)
        else:
            self._count_done([batch] * batch.size)

    def _decode_items(self, stored_items: list[tuple[Slot, Any]]) -> None:
        self._count_done([slot.batch for slot, stored in stored_items if self._decode_item(slot, stored)])

    def _decode_item(self, slot: Slot, stored: Any) -> bool:
        if self._closed:
            return False
        try:
            slot.batch.put(slot.position, self._reading.source.item(stored), self._random(slot))
        except Exception as problem:
            self._reject(slot, problem)
            return False
        return True

    def _random(self, slot: Slot) -> Random:
        return self._order.random(self._place(slot))

    def _place(self, slot: Slot) -> int:
        """Return the place of an item in the order that all ranks share. After a bad item it is the next place."""
        return self._order.place(slot.number) + slot.tries

    def _count_done(self, batches: list[Batch]) -> None:
        """Count one more finished item for each of these batches. A batch can occur several times."""
        with self._ready:
            for batch in batches:
                batch.missing -= 1
            if any(not batch.missing for batch in batches):
                self._ready.notify_all()

    def _reject_whole(self, batch: Batch, problem: Exception) -> None:
        """Fetch the items of a failed batch one by one, in order to find the bad ones."""
        if isinstance(problem, DataError):
            self._queue_items(batch)
            return
        with self._ready:
            batch.give_up_all(problem)
            self._ready.notify_all()

    def _reject(self, slot: Slot, problem: Exception) -> None:
        """Replace a bad item by the next one, or let its batch fail with the problem."""
        with self._ready:
            if not isinstance(problem, DataError) or self._loading.bad is BadItems.STOP:
                slot.batch.give_up(slot.position, problem)
            elif slot.tries + 1 < min(_MOST_BAD_IN_A_ROW, len(self._order)):
                slot.batch.skipped.append(str(problem))
                self._to_fetch.appendleft([replace(slot, tries=slot.tries + 1)])
                self._room.notify()
            else:
                last = (
                    f"{slot.tries + 1} items in a row are bad; correct the data, starting with this problem: {problem}"
                )
                slot.batch.give_up(slot.position, DataError(last))
            self._ready.notify_all()


class Batches(ClosedAtEnd, Iterator[tuple[Tensor, ...]]):
    """An endless iterator over batches, each with a tensor for every top. After a source's last item, its first
    follows.

    A batch depends only on the source, the seed, the rank and its number. So a snapshot stores only `position`, the
    number of batches that were taken, and `seek` continues there. Threads start when the first batch is needed. Closing
    the batches closes the source.
    """

    def __init__(self, reading: Reading, loading: Loading | None = None) -> None:
        self.reading, self._loading = reading, loading or Loading()
        self._order = _order(reading, self._loading)
        self._threads: BatchThreads | None = None
        self._closed = False
        self.position = 0
        self.waited = 0.0  # seconds for which callers waited for batches
        self.skipped = 0  # bad items in the batches that were taken
        self.reasons: list[str] = []  # the reasons for the first of them

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
        """Return the shapes of the next batch without taking it."""
        return [tuple(top.shape) for top in self._running_threads().wait(self.position).tops]

    def epoch_batches(self) -> Fraction:
        """Return how many batches all items fill, counting all processes that share the data."""
        return Fraction(count_of(self.reading.source), self.reading.batch_size)

    def seek(self, position: int) -> None:
        """Continue with the batch of this number, as if the batches before it had been taken."""
        if position < 0:
            raise DataError(f"there is no batch {position}; use a number from 0 on")
        if position != self.position and not self._stop_threads():
            self._closed = True  # the source stays open, because a thread still reads from it
            raise DataError(
                "can't move to another batch, because a thread still waits for the source; check its disk or network"
            )
        self.position = position

    def _running_threads(self) -> BatchThreads:
        if self._closed:
            raise DataError("these batches are closed; open the data again for another pass")
        if self._threads is None:
            self._threads = BatchThreads(self.reading, self._loading, self._order, self.position)
            self._finalizer = weakref.finalize(self, self._threads.close)  # also runs when the interpreter exits
        return self._threads

    def _stop_threads(self) -> bool:
        """End the threads if there are any, and return whether all ended."""
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
        """End all threads and close the source. It stays open if a thread still reads from it after some seconds."""
        if not self._closed and self._stop_threads():
            self.reading.source.close()
        self._closed = True


def _order(reading: Reading, loading: Loading) -> Order:
    """Return the order of a source's items. Raises a `DataError` if the settings are invalid."""
    if reading.batch_size < 1 or loading.workers < 1 or loading.prefetch < 1:
        raise DataError(
            f"batch_size is {reading.batch_size}, workers {loading.workers} and prefetch {loading.prefetch}; "
            "set each of them to 1 or more"
        )
    length = len(reading.source)
    if not length:
        raise DataError("the source is empty; count its items with `zoo data show`, and name a source that has some")
    if not 0 <= reading.start < length:
        raise DataError(
            f"the layer skips {reading.start} items at the start, but the source has only {length}; lower rand_skip"
        )
    if not 0 <= loading.rank < loading.size:
        raise DataError(
            f"the rank is {loading.rank}, but with {loading.size} processes it must be from 0 to "
            f"{loading.size - 1}; pass rank and size of this process, or neither"
        )
    if not 0 <= loading.seed < SEEDS:
        raise DataError(f"the seed is {loading.seed}; set it to a number from 0 to 2^63 - 1")
    groups = reading.groups or (length,)
    return Order(groups, reading.shuffle, loading.seed, reading.start, loading.rank, loading.size)
