"""The threads that make batches: one that fetches items, and several that decode them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from netdsl.data.batches.batch import Batch
from netdsl.data.batches.reading import BadItems, Loading, Reading
from netdsl.data.sources.order import Order
from netdsl.data.sources.source import Item, WholeSource
from netdsl.data.types import Random
from netdsl.errors import DataError

_MOST_BAD_IN_A_ROW = 1000  # items, after which a source isn't worth reading on
_MOST_PER_TASK = 16  # items that a thread decodes before it looks for more work
_JOIN_SECONDS = 5.0  # that closing waits for a thread which may be waiting for a disk


@dataclass(frozen=True)
class Slot:
    """A position in a batch, and how many items were already tried for it."""

    batch: Batch
    position: int
    tries: int = 0

    @property
    def number(self) -> int:
        """The number of its item in the sequence of this rank: after a bad item the next one."""
        return self.batch.number * self.batch.size + self.position + self.tries


class BatchThreads:
    """Threads that make the batches from `first` on, up to `prefetch` of them before they are taken.

    They hold no reference to whoever takes the batches, so that the garbage collection of an abandoned iterator can end
    them. One lock guards all that they share. Each thread waits for what concerns it: the fetching one for room, the
    decoding ones for fetched items, and whoever takes batches for a complete one.
    """

    def __init__(self, reading: Reading, loading: Loading, order: Order, first: int) -> None:
        self._reading, self._loading, self._order = reading, loading, order
        one_by_one = reading.collate or reading.item_transform
        self._whole = reading.source if isinstance(reading.source, WholeSource) and not one_by_one else None
        lock = threading.RLock()
        self._room, self._work, self._ready = (threading.Condition(lock) for _ in range(3))
        self._closed = False
        self._next_to_take, self._next_to_begin = first, first  # numbers of batches
        self._batches: dict[int, Batch] = {}
        self._to_fetch: deque[Batch | list[Slot]] = deque()
        self._to_decode: deque[Callable[[], None]] = deque()
        self._fetching: int | None = None  # the item that is being read, for the error after the deadline
        self._threads: list[threading.Thread] = []
        try:
            for work in (self._run_fetching, *[self._run_decoding] * loading.workers):
                self._start_thread(work)
        except RuntimeError:  # the system doesn't allow as many threads
            self.close()
            raise

    def _start_thread(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="netdsl batches", daemon=True)
        thread.start()
        self._threads.append(thread)

    def wait(self, number: int) -> Batch:
        """Wait for a batch to be complete; an error if it can't be completed, or if it takes too long."""
        with self._ready:
            ready = self._ready.wait_for(lambda: self._is_ready(number), self._loading.deadline)
            batch = self._batches.get(number)
        if batch is not None and batch.problem is not None:
            raise batch.problem
        if batch is None or not ready:
            raise DataError(f"batch {number} isn't there after {self._loading.deadline:g} s: {self._delay()}")
        return batch

    def take(self, number: int) -> Batch:
        """Wait for a batch and remove it, which makes room for another one."""
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
            return f"item {self._fetching} is still being read; is its disk or network there?"
        return "its items are still being decoded; use more workers, or a longer deadline"

    def close(self) -> bool:
        """End all threads; return whether all ended, which one that waits for a disk may not do in time."""
        with self._room:
            self._closed = True
            self._room.notify()
            self._work.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():  # which may be running the garbage collection that closes us
                thread.join(_JOIN_SECONDS)
        return not any(thread.is_alive() for thread in self._threads)

    def _run_fetching(self) -> None:
        while (task := self._next_to_fetch()) is not None:
            if isinstance(task, Batch):
                self._fetch_whole(task)
            else:
                self._fetch_items(task)

    def _next_to_fetch(self) -> Batch | list[Slot] | None:
        """What to fetch next, once there is room for it; None when the threads are closed."""
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
        """Queue the items of a batch before all else, to be fetched one by one."""
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
            self._fetching = self._order.index(self._order.place(slot.number))
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
        return self._order.random(self._order.place(slot.number))

    def _count_done(self, batches: list[Batch]) -> None:
        """Count one more item for each of these batches, which may be the same one several times."""
        with self._ready:
            for batch in batches:
                batch.missing -= 1
            if any(not batch.missing for batch in batches):
                self._ready.notify_all()

    def _reject_whole(self, batch: Batch, problem: Exception) -> None:
        """Find the bad items of a batch by fetching its items one by one."""
        if isinstance(problem, DataError):
            self._queue_items(batch)
            return
        with self._ready:
            batch.give_up_all(problem)
            self._ready.notify_all()

    def _reject(self, slot: Slot, problem: Exception) -> None:
        """Replace a bad item by the next one, or give its batch the problem, which is raised where it is taken."""
        with self._ready:
            if not isinstance(problem, DataError) or self._loading.bad is BadItems.STOP:
                slot.batch.give_up(slot.position, problem)
            elif slot.tries + 1 < min(_MOST_BAD_IN_A_ROW, len(self._order)):
                slot.batch.skipped.append(str(problem))
                self._to_fetch.appendleft([replace(slot, tries=slot.tries + 1)])
                self._room.notify()
            else:
                last = f"{slot.tries + 1} items in a row are bad; the last: {problem}"
                slot.batch.give_up(slot.position, DataError(last))
            self._ready.notify_all()
