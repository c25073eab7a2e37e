"""A communicator for processes on one machine, whose buffers are in main memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netdsl.distributed.traffic import Traffic
from netdsl.distributed.transports.lane import Lane, Operation, check
from netdsl.distributed.transports.shared_memory.memory import CELLS, LANES, Bytes, SharedBlock, fence, reserve
from netdsl.distributed.transports.shared_memory.pieces import Pieces
from netdsl.distributed.transports.shared_memory.shared_variable import SharedMemoryVariable, room
from netdsl.distributed.transports.shared_memory.waiting import Patience
from netdsl.errors import DistributedError

DEADLINE = 60.0  # seconds without a sign of life
_KINDS = (torch.float32, torch.float64, torch.int64)


class SharedMemory:
    """One of `size` workers that share the memory behind a descriptor, which `memory.create` made."""

    def __init__(self, descriptor: int, rank: int, size: int, deadline: float = DEADLINE) -> None:
        self.rank, self.size, self.traffic = rank, size, Traffic()
        self.memory = SharedBlock(descriptor, size)
        self._patience = Patience(self.memory, rank, deadline)
        self._lanes: dict[int, tuple[Lane, Pieces]] = {}
        self._turn = 0
        self._counting = threading.Lock()  # lanes finish at once
        self._end = self.memory.length
        self.alive()

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Operation:
        """Everybody's weighted mean, added up in the order of ranks."""
        return self._average(buffer, weight, None, lane)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Operation:
        """The same for one worker only."""
        return self._average(buffer, weight, root, lane)

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Operation:
        """Everybody's buffer becomes the root's."""
        given = _bytes(buffer)
        return self._add(lane, lambda pieces: pieces.broadcast(given, root))

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Operation:
        """A buffer for another worker. It is over when that one has taken it all."""
        given = _bytes(buffer)
        return self._add(lane, lambda pieces: pieces.send(given, to))

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Operation:
        """What another worker sends."""
        given = _bytes(buffer)
        return self._add(lane, lambda pieces: pieces.receive(given, source))

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """A few numbers of everybody, as many at once as the cells hold."""
        found: list[list[float]] = [[] for _ in range(self.size)]
        for start in range(0, max(len(values), 1), CELLS):
            for row, more in zip(found, self._gather(values[start : start + CELLS]), strict=True):
                row += more
        return found

    def barrier(self) -> None:
        """Wait for all others."""
        self._gather([])

    def centre(self, buffer: Tensor) -> SharedMemoryVariable:
        """A variable at the end of the file, which the first worker fills."""
        start, self._end = self._end, self._end + room(buffer)
        problem = ""
        if self.rank == 0:
            try:
                reserve(self.memory.descriptor, start, room(buffer))
            except OSError as found:
                problem = str(found)
        if any(failed for (failed,) in self.gather([float(bool(problem))])):
            raise DistributedError(f"no room for a centre of {buffer.nbytes} bytes in shared memory: {problem}")
        centre = SharedMemoryVariable(self._patience, self._count, start, buffer)
        if self.rank == 0:
            centre.write(buffer)
        self.barrier()
        return centre

    def alive(self) -> None:
        """A sign of life."""
        self.memory.give_sign(self.rank)

    def _average(self, buffer: Tensor, weight: float, root: int | None, lane: int) -> Operation:
        if buffer.dtype not in _KINDS:
            raise DistributedError(f"a mean of {buffer.dtype} values; give float32, float64 or int64")
        given = _array(buffer)
        return self._add(lane, lambda pieces: pieces.mean(given, weight, root))

    def _add(self, number: int, work: Callable[[Pieces], Traffic]) -> Operation:
        check(number, LANES)
        if number not in self._lanes:
            self.memory.reserve(number)
            self._lanes[number] = Lane(number), Pieces(self._patience, number)
        lane, pieces = self._lanes[number]
        return lane.add(lambda: self._count(work(pieces)))

    def _count(self, cost: Traffic) -> None:
        with self._counting:
            self.traffic.waited += cost.waited
            self.traffic.moved += cost.moved
            self.traffic.bytes += cost.bytes

    def _gather(self, values: Sequence[float]) -> list[list[float]]:
        """By turns in two rows of cells: who is a turn ahead doesn't touch what others still read."""
        self._turn += 1
        memory, turn, row = self.memory, self._turn, self._turn % 2
        memory.cells[self.rank, row, : len(values)] = values
        memory.turns[self.rank, 1 + row] = len(values)
        fence()
        memory.turns[self.rank, 0] = turn
        waited = self._patience.until(lambda: np.flatnonzero(memory.turns[:, 0] < turn).tolist(), "gather")
        self._count(Traffic(waited, 0.0, 8 * len(values) * self.size))
        if len(counts := set(memory.turns[:, 1 + row].tolist())) > 1:
            raise DistributedError(f"gather: workers give {sorted(counts)} numbers; all must give as many")
        rows: list[list[float]] = memory.cells[:, row, : len(values)].tolist()
        self.alive()
        return rows


def _array(buffer: Tensor) -> NDArray[Any]:
    """The values themselves, in a row."""
    if buffer.device.type != "cpu":
        raise DistributedError(f"a buffer on {buffer.device}, but only main memory is shared; use a TorchGroup for it")
    found: NDArray[Any] = buffer.detach().view(-1).numpy()
    return found


def _bytes(buffer: Tensor) -> Bytes:
    return _array(buffer.detach().view(-1).view(torch.uint8))
