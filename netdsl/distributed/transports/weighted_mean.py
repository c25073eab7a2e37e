"""The weighted mean of the workers' values. Its bits don't depend on where it is computed or how it is sent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netdsl.errors import DistributedError

Array = NDArray[Any]
_PIECE = 1 << 22  # bytes that are added up at once; larger pieces leave the cache before they are used
_LEAST = 1 << 16  # bytes; below, a second message costs more than it hides
_AHEAD = 2  # pieces that are on their way while one is added up
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


def bytes_of_mean(size: int, length: int) -> int:
    """Return how many bytes one of `size` workers sends and receives for the mean of buffers of this many bytes."""
    return 4 * (size - 1) * length // size


class Stage(IntEnum):
    """The two stages of a sum. Messages of different stages may overtake each other."""

    SHARES = 1  # each worker receives its share of all workers' values
    SUMS = 2  # each worker sends the sum of its share


class Messages(Protocol):
    """The messages between two workers, which move values in the order in which each worker requests it."""

    rank: int
    size: int

    def begin_send(self, values: Array, to: int, stage: Stage) -> Any:
        """Begin to send values."""
        ...

    def begin_receive(self, values: Array, source: int, stage: Stage) -> Any:
        """Begin to fill an array with the values that another worker sends."""
        ...

    def finish(self, begun: Sequence[Any], doing: str) -> None:
        """Wait until all of these transfers are complete."""
        ...


class OrderedSum:
    """Adds up values in pieces that stay in a processor's cache. While one is added up, others are on their way.

    It reuses its buffers, because memory is slow when it is first used.
    """

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._rooms = [np.empty(0, np.uint8) for _ in range(2 * _AHEAD + 1)]

    def add_up(self, values: Array, scales: Scales, root: int | None, doing: str) -> Iterator[None]:
        """Replace every worker's values, or only the root's, with the scaled sum. The first step never waits."""
        length = max(min(_PIECE, -(-values.nbytes // 2)), _LEAST) // values.itemsize
        starts = range(0, values.size, length)
        pieces = [SummedPiece(self._messages, values[start : start + length], root, doing) for start in starts]
        rooms = len(self._rooms)
        for number in range(len(pieces) + rooms):
            if number == _AHEAD + 1:
                yield
            if number >= rooms:
                pieces[number - rooms].finish()
            if number < len(pieces):
                pieces[number].begin_receiving(self._room_for(number % rooms, pieces[number].room))
            if 1 <= number <= len(pieces):
                pieces[number - 1].begin_sending()
            if _AHEAD < number <= len(pieces) + _AHEAD:
                pieces[number - 1 - _AHEAD].add_up(scales)

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
        self._collects = root in (None, messages.rank)
        self._ahead = [(messages.rank + distance) % messages.size for distance in range(1, messages.size)]
        self._shares_begun: list[Any] = []
        self._sums_begun: list[Any] = []
        self.room = messages.size * self._own.nbytes  # bytes for all workers' values of this worker's share

    def begin_receiving(self, room: Array) -> None:
        """Begin to receive this worker's share of the others' values into `room`.

        A library may have to tell the senders that there is room, so this comes before the previous piece is sent.
        """
        self._rows = room.view(self._own.dtype).reshape(self._messages.size, self._own.size)
        sources = reversed(self._ahead)
        self._shares_begun = [
            self._messages.begin_receive(self._rows[source], source, Stage.SHARES) for source in sources
        ]

    def begin_sending(self) -> None:
        """Begin to send each worker its share, and to receive the sums.

        A sum arrives where the values are that were sent for it, since a worker only knows it after it has received
        them. Each worker begins with the next one, so no worker has to receive from all others at once.
        """
        send, receive = self._messages.begin_send, self._messages.begin_receive
        self._shares_begun += [send(self._shares[to], to, Stage.SHARES) for to in self._ahead]
        if self._collects:
            self._sums_begun = [receive(self._shares[source], source, Stage.SUMS) for source in reversed(self._ahead)]

    def add_up(self, scales: Scales) -> None:
        """Add up this worker's share when all values have arrived, and begin to send the sum."""
        messages, factors = self._messages, scales()
        self._rows[messages.rank] = self._own
        messages.finish(self._shares_begun, self._doing)
        total = self._own if self._collects else self._rows[0]  # its values are read before they are overwritten
        add_up(list(self._rows), factors, total)
        receivers = self._ahead if self._root is None else [to for to in self._ahead if to == self._root]
        self._sums_begun += [messages.begin_send(total, to, Stage.SUMS) for to in receivers]

    def finish(self) -> None:
        """Wait until all sums have arrived."""
        self._messages.finish(self._sums_begun, self._doing)
