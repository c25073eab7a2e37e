"""The threads that make batches: one that fetches, and several that decode what it fetched."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from netdsl.data.batch import Batch
from netdsl.data.order import Order
from netdsl.data.reading import Bad, Loading, Reading
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


class Crew:
    """Makes the batches from `first` on, up to `ahead` of them before they are taken.

    It knows nothing of whoever takes them, so that batches which everybody has forgotten can end their crew. All that
    threads share is guarded by one condition.
    """

    def __init__(self, reading: Reading, loading: Loading, order: Order, first: int) -> None:
        self._reading, self._loading, self._order = reading, loading, order
        self._changed = threading.Condition()
        self._closed = False
        self._taken, self._begun = first, first
        self._batches: dict[int, Batch] = {}
        self._wanted: deque[list[Slot]] = deque()
        self._fetched: deque[list[tuple[Slot, Any]]] = deque()
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
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_ready(number), self._loading.deadline):
                raise DataError(f"batch {number} isn't there after {self._loading.deadline:g} s: {self._delay()}")
            batch = self._batches[number]
        if batch.problem is not None:
            raise batch.problem
        return batch

    def take(self, number: int) -> Batch:
        """The same, and it is the caller's; there is room for another."""
        batch = self.wait(number)
        with self._changed:
            self._taken = number + 1
            del self._batches[number]
            self._changed.notify_all()
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
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():  # which may be collecting the garbage that we became
                thread.join(_PATIENCE)
        return not any(thread.is_alive() for thread in self._threads)

    def _fetch(self) -> None:
        while (slots := self._next_wanted()) is not None:
            fetched: list[tuple[Slot, Any]] = []
            for slot in slots:
                self._fetch_one(slot, fetched)
            with self._changed:
                self._fetching = None
                self._fetched.append(fetched)
                self._changed.notify_all()

    def _next_wanted(self) -> list[Slot] | None:
        """What to fetch next, as soon as there is room for it; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._wanted or self._has_room())
            if self._closed:
                return None
            if not self._wanted:
                self._begin()
            return self._wanted.popleft()

    def _has_room(self) -> bool:
        return self._begun < self._taken + self._loading.ahead

    def _begin(self) -> None:
        size = self._reading.batch_size
        batch = Batch(self._begun, size, self._reading.transform, pinned=self._loading.pinned)
        self._batches[self._begun] = batch
        self._begun += 1
        together = max(1, min(_MOST_TOGETHER, size // (2 * self._loading.workers)))
        slots = [Slot(batch, position) for position in range(size)]
        self._wanted.extend(slots[at : at + together] for at in range(0, size, together))

    def _fetch_one(self, slot: Slot, fetched: list[tuple[Slot, Any]]) -> None:
        if self._closed:
            return
        try:
            self._fetching = self._order.index(self._order.place(slot.number))
            fetched.append((slot, self._reading.source.fetch(self._fetching)))
        except Exception as problem:
            self._give_up(slot, problem)

    def _decode(self) -> None:
        while (fetched := self._next_fetched()) is not None:
            done = [slot.batch for slot, found in fetched if self._decode_one(slot, found)]
            with self._changed:
                for batch in done:
                    batch.missing -= 1
                self._changed.notify_all()

    def _next_fetched(self) -> list[tuple[Slot, Any]] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._fetched)
            return None if self._closed else self._fetched.popleft()

    def _decode_one(self, slot: Slot, fetched: Any) -> bool:
        if self._closed:
            return False
        try:
            item = self._reading.source.item(fetched)
            slot.batch.put(slot.position, item, self._order.random(self._order.place(slot.number)))
        except Exception as problem:
            self._give_up(slot, problem)
            return False
        return True

    def _give_up(self, slot: Slot, problem: Exception) -> None:
        """An item is bad: the next takes its place, or the batch has a problem, which whoever asks for it gets."""
        with self._changed:
            if not isinstance(problem, DataError) or self._loading.bad is Bad.STOP:
                slot.batch.problem = problem
            elif slot.tries + 1 < min(_MOST_BAD, len(self._order)):
                slot.batch.skipped.append(str(problem))
                self._wanted.appendleft([replace(slot, tries=slot.tries + 1)])
            else:
                slot.batch.problem = DataError(f"{slot.tries + 1} items in a row are bad; the last: {problem}")
            self._changed.notify_all()
