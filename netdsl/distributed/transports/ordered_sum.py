"""Weighted sums over messages between workers, added up in the order of ranks to the same bits as everywhere else.

Each worker adds up a share of each piece. While one piece is added up the next is on its way, so that nobody waits for
a worker who is only a little behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from netdsl.distributed.transports.weighted_mean import Array, add_up

Scales = Callable[[], list[float]]  # the factors of all workers' values, which may have to be waited for


class Messages(Protocol):
    """What moves values between two workers, in the order in which each asks for it."""

    rank: int
    size: int

    def begin_send(self, values: Array, to: int) -> Any:
        """Begin to send values."""
        ...

    def begin_receive(self, values: Array, source: int) -> Any:
        """Begin to fill an array with what another worker sends."""
        ...

    def finish(self, begun: Sequence[Any], doing: str) -> None:
        """Wait for what has begun."""
        ...


class OrderedSum:
    """Sums in pieces of so many bytes. It keeps room for others' values: new memory is slow when it is first used."""

    def __init__(self, messages: Messages, piece: int) -> None:
        self._messages, self._piece = messages, piece
        self._rooms = [np.empty(0, np.uint8), np.empty(0, np.uint8)]  # of the piece that is added up, and of the next

    def add_up(self, values: Array, scales: Scales, root: int | None, doing: str) -> int:
        """Replace everybody's values, or the root's, by the sum of all times their scales; returns the bytes moved."""
        length = self._piece // values.itemsize
        starts = range(0, values.size, length)
        pieces = [SummedPiece(self._messages, values[start : start + length], root, doing) for start in starts]
        for number in range(len(pieces) + 2):
            if number >= 2:
                pieces[number - 2].finish()
            if number < len(pieces):
                pieces[number].begin(self._room(number % 2, pieces[number].room))
            if 1 <= number <= len(pieces):
                pieces[number - 1].add_up(scales)
        return 4 * (self._messages.size - 1) * values.nbytes // self._messages.size

    def _room(self, number: int, length: int) -> Array:
        if self._rooms[number].size < length:
            self._rooms[number] = np.empty(length, np.uint8)
        return self._rooms[number][:length]


class SummedPiece:
    """A piece of a buffer on its way to its sum."""

    def __init__(self, messages: Messages, piece: Array, root: int | None, doing: str) -> None:
        self._messages, self._root, self._doing = messages, root, doing
        length = -(-piece.size // messages.size)
        self._shares = [piece[rank * length : (rank + 1) * length] for rank in range(messages.size)]
        self._own = self._shares[messages.rank]
        self._others = [rank for rank in range(messages.size) if rank != messages.rank]
        self._begun: list[Any] = []
        self.room = messages.size * self._own.nbytes  # bytes for everybody's values of this worker's share

    def begin(self, room: Array) -> None:
        """Send each worker its share, and have room for what all others send."""
        self._rows = room.view(self._own.dtype).reshape(self._messages.size, self._own.size)
        self._begun = [self._messages.begin_receive(self._rows[source], source) for source in self._others]
        self._begun += [self._messages.begin_send(self._shares[to], to) for to in self._others]

    def add_up(self, scales: Scales) -> None:
        """Add up this worker's share when it is there, and send it on its way."""
        messages, factors = self._messages, scales()
        self._rows[messages.rank] = self._own
        messages.finish(self._begun, self._doing)
        collects = self._root in (None, messages.rank)
        total = self._own if collects else self._rows[0]  # where the first values are read before they are replaced
        add_up(list(self._rows), factors, total)
        receivers = self._others if self._root is None else [rank for rank in self._others if rank == self._root]
        self._begun = [messages.begin_send(total, to) for to in receivers]
        if collects:
            self._begun += [messages.begin_receive(self._shares[source], source) for source in self._others]

    def finish(self) -> None:
        """Wait until all shares are where they belong."""
        self._messages.finish(self._begun, self._doing)
