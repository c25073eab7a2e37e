"""Weighted means over MPI, added up in the order of ranks, piece by piece."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from netdsl.distributed.transports.weighted_mean import Array, add_up
from netdsl.mpi.group import MpiGroup, pieces


class Sum(Protocol):
    """A way to add up what all ranks have."""

    def add_up(self, values: Array, scales: list[float], root: int | None, doing: str) -> None:
        """Replace the values by the sum of everybody's, times their scales; with a root, only the root's values."""
        ...

    def close(self) -> None:
        """Free the duplicates of communicators."""
        ...


class OrderedSum:
    """Adds up what ranks have: of each piece every rank adds up a share, and all collect the sums."""

    def __init__(self, group: MpiGroup) -> None:
        self._group = group
        self._room = np.empty(0, np.uint8)  # for everybody's part of a share

    def add_up(self, values: Array, scales: list[float], root: int | None, doing: str) -> None:
        """Replace the values by the sum of everybody's, times their scales; with a root, only the root's values."""
        for piece in pieces(values):
            shares = self._shares(piece)
            rows = self._exchange(piece, shares, doing)
            collects = root in (None, self._group.rank)
            own = piece[shares[self._group.rank]] if collects else rows[0]
            add_up(list(rows), scales, own)
            self._collect(piece, own, shares, root, doing)
        count = 2 * (self._group.size - 1) * values.nbytes // self._group.size
        self._group.traffic.add(count=2 * count)

    def close(self) -> None:
        """Free the duplicate."""
        self._group.close()

    def _shares(self, piece: Array) -> list[slice]:
        """Each rank's share of a piece."""
        length = -(-piece.size // self._group.size)
        starts = [min(rank * length, piece.size) for rank in range(self._group.size + 1)]
        return [slice(start, stop) for start, stop in pairwise(starts)]

    def _exchange(self, piece: Array, shares: list[slice], doing: str) -> Array:
        """Everybody's part of this rank's share, by rank."""
        group, length = self._group, _length(shares[self._group.rank])
        needed = length * group.size * piece.itemsize
        if self._room.size < needed:
            self._room = np.empty(needed, np.uint8)
        rows = self._room[:needed].view(piece.dtype).reshape(group.size, length)
        received = [rows, [length] * group.size, [rank * length for rank in range(group.size)], _type(group, piece)]
        group.finish([group.communicator.Ialltoallv(_by_rank(group, piece, shares), received)], doing)
        return rows

    def _collect(self, piece: Array, own: Array, shares: list[slice], root: int | None, doing: str) -> None:
        """Fill the piece with all shares' sums, or that of the root."""
        group = self._group
        everything, in_place = _by_rank(group, piece, shares), group.mpi.IN_PLACE
        if root is None:
            request = group.communicator.Iallgatherv(in_place, everything)
        elif root == group.rank:
            request = group.communicator.Igatherv(in_place, everything, root)
        else:
            request = group.communicator.Igatherv([own, _type(group, piece)], None, root)
        group.finish([request], doing)


class SumByNode:
    """Adds up what the ranks of each machine have, then what machines have, so that each machine sends one buffer.

    `leaders` are the first ranks of all machines, if this is one of them.
    """

    def __init__(self, group: MpiGroup, node: MpiGroup, leaders: MpiGroup | None) -> None:
        self._group, self._node, self._leaders = group, node, leaders
        self._members = [int(rank) for (rank,) in node.gather([group.rank], "finding the ranks of this machine")]
        self._within = OrderedSum(node)
        self._among = None if leaders is None else (OrderedSum(leaders), [1.0] * leaders.size)

    def add_up(self, values: Array, scales: list[float], root: int | None, doing: str) -> None:
        """Replace the values by the sum of everybody's, times their scales; with a root, only the root's values."""
        whole = values.dtype.kind == "i"  # which is rounded only once
        total = values if root is None and not whole else values.astype(np.float64 if whole else values.dtype)
        self._within.add_up(total, [scales[rank] for rank in self._members], 0, doing)
        if self._among is not None:
            machines, ones = self._among
            machines.add_up(total, ones, None, doing)
        self._node.broadcast(total.view(np.uint8), 0, doing)
        if root in (None, self._group.rank) and total is not values:
            values[:] = np.rint(total) if whole else total

    def close(self) -> None:
        """Free all duplicates."""
        for group in filter(None, (self._group, self._node, self._leaders)):
            group.close()


def _by_rank(group: MpiGroup, piece: Array, shares: list[slice]) -> list[Any]:
    """A piece as MPI's functions take it, with the places of all ranks' shares."""
    return [piece, [_length(share) for share in shares], [share.start for share in shares], _type(group, piece)]


def _type(group: MpiGroup, values: Array) -> Any:
    """MPI's type of values."""
    return group.mpi.Datatype.fromcode(values.dtype.char)


def _length(share: slice) -> int:
    return int(share.stop - share.start)
