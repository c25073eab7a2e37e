"""The threads that make batches: one that fetches, and several that decode what it fetched."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from netdsl.data.batches.batch import Batch
from netdsl.data.batches.order import Order
from netdsl.data.batches.reading import Bad, Loading, Random, Reading
from netdsl.data.sources.source import Item, WholeSource
from netdsl.errors import DataError

_MOST_BAD = 1000  # items in a row, after which a source isn't worth reading on
_MOST_TOGETHER = 16  # items that a thread takes at once
_PATIENCE = 5.0  # seconds that closing waits for a thread which waits for a disk


@dataclass(frozen=True)
class Slot:
    """A place in a batch, and how many items were already tried for it."""

    batch: Batch
    position: int
    tries: int = 0

    @property
    def number(self) -> int:
        """Which item of its rank it takes: the next one instead of each that was bad."""
        return self.batch.number * self.batch.size + self.position + self.tries


class BatchThreads:
    """Makes the batches from `first` on, up to `ahead` of them before they are taken.

    It knows nothing of whoever takes them, so that batches which everybody has forgotten can end their crew. All that
    threads share is guarded by one lock. Each waits for what concerns it: the one that fetches for room, those that
    decode for work, and whoever takes batches for one to be ready.
    """

    def __init__(self, reading: Reading, loading: Loading, order: Order, first: int) -> None:
        self._reading, self._loading, self._order = reading, loading, order
        self._whole = reading.source if isinstance(reading.source, WholeSource) else None
        lock = threading.RLock()
        self._room, self._work, self._ready = (threading.Condition(lock) for _ in range(3))
        self._closed = False
        self._taken, self._begun = first, first
        self._batches: dict[int, Batch] = {}
        self._wanted: deque[Batch | list[Slot]] = deque()
        self._fetched: deque[Callable[[], None]] = deque()
        self._fetching: int | None = None
        self._threads: list[threading.Thread] = []
        try:
            for work in (self._fetch, *[self._decode] * loading.workers):
                self._begin_thread(work)
        except RuntimeError:  # there can't be as many
            self.close()
            raise

    def _begin_thread(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="netdsl batches", daemon=True)
        thread.start()
        self._threads.append(thread)

    def wait(self, number: int) -> Batch:
        """A batch that is complete; an error if it can't be, or if it takes too long."""
        with self._ready:
            if not self._ready.wait_for(lambda: self._is_ready(number), self._loading.deadline):
                raise DataError(f"batch {number} isn't there after {self._loading.deadline:g} s: {self._delay()}")
            batch = self._batches[number]
        if batch.problem is not None:
            raise batch.problem
        return batch

    def take(self, number: int) -> Batch:
        """The same, and it is the caller's; there is room for another."""
        batch = self.wait(number)
        with self._room:
            self._taken = number + 1
            del self._batches[number]
            self._room.notify()
        return batch

    def _is_ready(self, number: int) -> bool:
        batch = self._batches.get(number)
        return batch is not None and (not batch.missing or batch.problem is not None)

    def _delay(self) -> str:
        if self._fetching is not None:
            return f"item {self._fetching} is still being read; is its disk or network there?"
        return "its items are still being decoded; take more workers, or a longer deadline"

    def close(self) -> bool:
        """End all threads; whether they did end, which one that waits for a disk may not."""
        with self._room:
            self._closed = True
            self._room.notify()
            self._work.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():  # which may be collecting the garbage that we became
                thread.join(_PATIENCE)
        return not any(thread.is_alive() for thread in self._threads)

    def _fetch(self) -> None:
        while (wanted := self._next_wanted()) is not None:
            if isinstance(wanted, Batch):
                self._fetch_whole(wanted)
            else:
                self._fetch_each(wanted)

    def _next_wanted(self) -> Batch | list[Slot] | None:
        """What to fetch next, as soon as there is room for it; None at the end."""
        with self._room:
            self._room.wait_for(lambda: self._closed or self._wanted or self._has_room())
            if self._closed:
                return None
            if not self._wanted:
                self._begin()
            return self._wanted.popleft()

    def _has_room(self) -> bool:
        return self._begun < self._taken + self._loading.ahead

    def _begin(self) -> None:
        reading = self._reading
        batch = Batch(self._begun, reading.batch_size, reading.transforms, pinned=self._loading.pinned)
        self._batches[self._begun] = batch
        self._begun += 1
        if self._whole is not None:
            self._wanted.append(batch)
        else:
            self._want_each(batch)

    def _want_each(self, batch: Batch) -> None:
        """Have the items of a batch one by one, next."""
        together = max(1, min(_MOST_TOGETHER, batch.size // (2 * self._loading.workers)))
        slots = [Slot(batch, position) for position in range(batch.size)]
        groups = [slots[at : at + together] for at in range(0, batch.size, together)]
        with self._room:
            self._wanted.extendleft(reversed(groups))
            self._room.notify()

    def _fetch_whole(self, batch: Batch) -> None:
        assert self._whole is not None
        try:
            indices = self._order.indices(batch.number * batch.size, batch.size)
            self._fetching = int(indices[0])
            items = self._whole.take(indices)
        except Exception as problem:
            self._give_up_whole(batch, problem)
            return
        if items is None:
            self._want_each(batch)
        else:
            self._hand_on(partial(self._decode_whole, batch, items))

    def _fetch_each(self, slots: list[Slot]) -> None:
        fetched: list[tuple[Slot, Any]] = []
        for slot in slots:
            self._fetch_one(slot, fetched)
        self._hand_on(partial(self._decode_each, fetched))

    def _fetch_one(self, slot: Slot, fetched: list[tuple[Slot, Any]]) -> None:
        if self._closed:
            return
        try:
            self._fetching = self._order.index(self._order.place(slot.number))
            fetched.append((slot, self._reading.source.fetch(self._fetching)))
        except Exception as problem:
            self._give_up(slot, problem)

    def _hand_on(self, task: Callable[[], None]) -> None:
        with self._work:
            self._fetching = None
            self._fetched.append(task)
            self._work.notify()

    def _decode(self) -> None:
        while (task := self._next_fetched()) is not None:
            task()

    def _next_fetched(self) -> Callable[[], None] | None:
        with self._work:
            self._work.wait_for(lambda: self._closed or self._fetched)
            return None if self._closed else self._fetched.popleft()

    def _decode_whole(self, batch: Batch, items: Item) -> None:
        try:
            batch.put_all(items, lambda position: self._random(Slot(batch, position)))
        except Exception as problem:
            self._give_up_whole(batch, problem)
        else:
            self._note_done([batch] * batch.size)

    def _decode_each(self, fetched: list[tuple[Slot, Any]]) -> None:
        self._note_done([slot.batch for slot, found in fetched if self._decode_one(slot, found)])

    def _decode_one(self, slot: Slot, fetched: Any) -> bool:
        if self._closed:
            return False
        try:
            slot.batch.put(slot.position, self._reading.source.item(fetched), self._random(slot))
        except Exception as problem:
            self._give_up(slot, problem)
            return False
        return True

    def _random(self, slot: Slot) -> Random:
        return self._order.random(self._order.place(slot.number))

    def _note_done(self, batches: list[Batch]) -> None:
        """An item is there, of each of these."""
        with self._ready:
            for batch in batches:
                batch.missing -= 1
            if any(not batch.missing for batch in batches):
                self._ready.notify_all()

    def _give_up_whole(self, batch: Batch, problem: Exception) -> None:
        """Of items that are bad, those which are found out one by one."""
        if isinstance(problem, DataError):
            self._want_each(batch)
            return
        with self._ready:
            batch.problem = problem
            self._ready.notify_all()

    def _give_up(self, slot: Slot, problem: Exception) -> None:
        """An item is bad: the next takes its place, or the batch has a problem, which whoever asks for it gets."""
        with self._ready:
            if not isinstance(problem, DataError) or self._loading.bad is Bad.STOP:
                slot.batch.problem = slot.batch.problem or problem
            elif slot.tries + 1 < min(_MOST_BAD, len(self._order)):
                slot.batch.skipped.append(str(problem))
                self._wanted.appendleft([replace(slot, tries=slot.tries + 1)])
                self._room.notify()
            else:
                slot.batch.problem = DataError(f"{slot.tries + 1} items in a row are bad; the last: {problem}")
            self._ready.notify_all()
