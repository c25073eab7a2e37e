"""Weighted means over MPI, added up in the order of ranks or of machines."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from netdsl.distributed.transports.weighted_mean import Array, OrderedSum
from netdsl.mpi.group import PIECE, MpiGroup


class Sum(Protocol):
    """A way to add up what all ranks have."""

    def add_up(self, values: Array, scales: list[float], root: int | None, doing: str) -> None:
        """Replace the values by the sum of everybody's, times their scales; with a root, only the root's values."""
        ...

    def close(self) -> None:
        """Free the duplicates of communicators."""
        ...


class SumByRank:
    """Adds up what ranks have in the order of ranks."""

    def __init__(self, group: MpiGroup) -> None:
        self._group, self._sum = group, OrderedSum(group, PIECE)

    def add_up(self, values: Array, scales: list[float], root: int | None, doing: str) -> None:
        """Replace the values by the sum of everybody's, times their scales; with a root, only the root's values."""
        self._group.traffic.add(count=self._sum.add_up(values, lambda: scales, root, doing))

    def close(self) -> None:
        """Free the duplicate."""
        self._group.close()


class SumByNode:
    """Adds up what the ranks of each machine have, then what machines have, so that each machine sends one buffer.

    `leaders` are the first ranks of all machines, if this is one of them.
    """

    def __init__(self, group: MpiGroup, node: MpiGroup, leaders: MpiGroup | None) -> None:
        self._group, self._node, self._leaders = group, node, leaders
        self._members = [int(rank) for (rank,) in node.gather([group.rank], "finding the ranks of this machine")]
        self._within = SumByRank(node)
        self._among = None if leaders is None else (SumByRank(leaders), [1.0] * leaders.size)

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
