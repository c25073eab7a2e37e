"""The weighted mean of the workers' values. Its bits don't depend on where it is computed or how it is sent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netdsl.errors import DistributedError

Array = NDArray[Any]
Scales = Callable[[], list[float]]  # the factors of all workers' values; the call may wait for them


def scales_of(weights: list[float], doing: str) -> list[float]:
    """Return the factor of each worker's values in the mean."""
    total = sum(weights)
    check_weights(total, doing)
    return [weight / total for weight in weights]


def check_weights(total: float, doing: str) -> None:
    """Raise a `DistributedError` if the sum of all workers' weights isn't positive."""
    if not total > 0:
        raise DistributedError(
            f"{doing}: the weights of all workers add up to {total:g}, so there is no mean; give at least one "
            "worker a positive weight"
        )


def add_up(shares: list[Array], scales: list[float], mean: Array) -> None:
    """Compute the weighted mean in the order of the shares. Whole numbers are added up in float64 and rounded.

    Values that are equal in all shares keep their bits if the scales are powers of two. Otherwise they are exact up to
    the last bit or two.
    """
    whole = mean.dtype.kind == "i"
    total = np.empty(mean.size, np.float64) if whole else mean
    with np.errstate(over="ignore", invalid="ignore"):  # the solver detects that a model has diverged
        if len(set(scales)) == 1 and _is_power_of_two(scales[0]):
            _add_up_and_scale(shares, scales[0], total)
        else:
            _scale_and_add_up(shares, scales, total)
        if whole:
            np.rint(total, out=total)
            mean[:] = total


def _is_power_of_two(scale: float) -> bool:
    return math.frexp(scale)[0] == 0.5


def _add_up_and_scale(shares: list[Array], scale: float, total: Array) -> None:
    """Add up first and scale once. This is faster than the other order, with the same bits for powers of two."""
    first, *others = shares
    for share in others:
        first = np.add(first, share, out=total)
    np.multiply(first, scale, out=total)


def _scale_and_add_up(shares: list[Array], scales: list[float], total: Array) -> None:
    np.multiply(shares[0], scales[0], out=total)
    scaled = np.empty_like(total)
    for share, scale in zip(shares[1:], scales[1:], strict=True):
        np.multiply(share, scale, out=scaled)
        np.add(total, scaled, out=total)


class Messages(Protocol):
    """The messages between two workers, which move values in the order in which each worker requests it."""

    rank: int
    size: int

    def begin_send(self, values: Array, to: int) -> Any:
        """Begin to send values."""
        ...

    def begin_receive(self, values: Array, source: int) -> Any:
        """Begin to fill an array with the values that another worker sends."""
        ...

    def finish(self, begun: Sequence[Any], doing: str) -> None:
        """Wait until all of these transfers are complete."""
        ...


class OrderedSum:
    """Adds up values in pieces of `piece` bytes. It reuses its buffers, because memory is slow when it is first
    used."""

    def __init__(self, messages: Messages, piece: int) -> None:
        self._messages, self._piece = messages, piece
        # One for the piece that is being added up, one for the next.
        self._rooms = [np.empty(0, np.uint8), np.empty(0, np.uint8)]

    def add_up(self, values: Array, scales: Scales, root: int | None, doing: str) -> int:
        """Replace every worker's values, or only the root's, with the scaled sum. Returns the bytes moved."""
        length = self._piece // values.itemsize
        starts = range(0, values.size, length)
        pieces = [SummedPiece(self._messages, values[start : start + length], root, doing) for start in starts]
        for number in range(len(pieces) + 2):
            if number >= 2:
                pieces[number - 2].finish()
            if number < len(pieces):
                pieces[number].begin(self._room_for(number % 2, pieces[number].room))
            if 1 <= number <= len(pieces):
                pieces[number - 1].add_up(scales)
        return 4 * (self._messages.size - 1) * values.nbytes // self._messages.size

    def _room_for(self, number: int, length: int) -> Array:
        if self._rooms[number].size < length:
            self._rooms[number] = np.empty(length, np.uint8)
        return self._rooms[number][:length]


class SummedPiece:
    """A piece of a buffer whose sum is being computed."""

    def __init__(self, messages: Messages, piece: Array, root: int | None, doing: str) -> None:
        self._messages, self._root, self._doing = messages, root, doing
        length = -(-piece.size // messages.size)
        self._shares = [piece[rank * length : (rank + 1) * length] for rank in range(messages.size)]
        self._own = self._shares[messages.rank]
        self._others = [rank for rank in range(messages.size) if rank != messages.rank]
        self._begun: list[Any] = []
        self.room = messages.size * self._own.nbytes  # bytes for all workers' values of this worker's share

    def begin(self, room: Array) -> None:
        """Send each worker its share, and begin to receive into `room` what the others send."""
        self._rows = room.view(self._own.dtype).reshape(self._messages.size, self._own.size)
        self._begun = [self._messages.begin_receive(self._rows[source], source) for source in self._others]
        self._begun += [self._messages.begin_send(self._shares[to], to) for to in self._others]

    def add_up(self, scales: Scales) -> None:
        """Add up this worker's share when all values have arrived, and begin to send the sum."""
        messages, factors = self._messages, scales()
        self._rows[messages.rank] = self._own
        messages.finish(self._begun, self._doing)
        collects = self._root in (None, messages.rank)
        total = self._own if collects else self._rows[0]  # its values are read before they are overwritten
        add_up(list(self._rows), factors, total)
        receivers = self._others if self._root is None else [rank for rank in self._others if rank == self._root]
        self._begun = [messages.begin_send(total, to) for to in receivers]
        if collects:
            self._begun += [messages.begin_receive(self._shares[source], source) for source in self._others]

    def finish(self) -> None:
        """Wait until all sums have arrived."""
        self._messages.finish(self._begun, self._doing)
