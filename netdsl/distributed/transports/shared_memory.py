"""A communicator for processes on one machine: buffers go through memory that all of them share."""

from __future__ import annotations

import fcntl
import mmap
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netdsl.distributed.communicator import Traffic
from netdsl.distributed.interruption import Interruption, wait_until_none
from netdsl.distributed.transports.lanes import Lane, LaneVariable, Operation, StagedBuffer, check_lane
from netdsl.distributed.transports.shared_block import CELLS, Numbers, Pieces, SharedBlock, fence, reserve, whole_pages
from netdsl.errors import DistributedError

_HEAD = whole_pages(1)  # who has the lock
_FREE = -1
_between_threads = threading.Lock()  # the kernel's lock is between processes
_SUMMED = (torch.float32, torch.float64, torch.int64)


class SharedMemoryCommunicator:
    """One of `size` workers that share the memory behind a descriptor, which it closes in the end.

    Means are added up in the order of ranks. Buffers on GPUs are copied by way of pinned memory.
    """

    def __init__(self, descriptor: int, rank: int, size: int, interruption: Interruption | None = None) -> None:
        self.rank, self.size, self.traffic = rank, size, Traffic()
        self.memory = SharedBlock(descriptor, size)
        self._interruption = interruption or Interruption()
        self._lanes: dict[int, tuple[Lane, Pieces]] = {}
        self._variables: list[LaneVariable] = []
        self._turn = 0
        self._end = self.memory.length

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Operation:
        """Replace everybody's buffer by their weighted mean."""
        return self._add_mean(buffer, weight, None, lane)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Operation:
        """Replace the root's buffer by the weighted mean."""
        return self._add_mean(buffer, weight, root, lane)

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Operation:
        """Replace everybody's buffer by the root's."""
        return self._add_operation(lane, buffer, lambda pieces, staged: pieces.broadcast(staged.bytes(), root))

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Operation:
        """Send a buffer to another worker. It is over when that one has taken it all."""
        return self._add_operation(lane, buffer, lambda pieces, staged: pieces.send(staged.bytes(), to), changes=False)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Operation:
        """Fill a buffer with what another worker sends."""
        return self._add_operation(lane, buffer, lambda pieces, staged: pieces.receive(staged.bytes(), source))

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Everybody's numbers, as many at once as the cells hold."""
        rows: list[list[float]] = [[] for _ in range(self.size)]
        for start in range(0, max(len(values), 1), CELLS):
            for row, more in zip(rows, self._gather_in_cells(values[start : start + CELLS]), strict=True):
                row += more
        return rows

    def barrier(self) -> None:
        """Wait for all others."""
        self._gather_in_cells([])

    def shared_variable(self, buffer: Tensor) -> LaneVariable:
        """Return a variable at the end of the memory, which the first worker fills."""
        start, self._end = self._end, self._end + variable_bytes(buffer)
        problem = ""
        if self.rank == 0:
            try:
                reserve(self.memory.descriptor, start, variable_bytes(buffer))
            except OSError as error:
                problem = str(error)
        if any(failed for (failed,) in self.gather([float(bool(problem))])):
            raise DistributedError(f"no room for a variable of {buffer.nbytes} bytes in shared memory: {problem}")
        values = SharedMemoryValues(self.memory, self.rank, start, buffer, self.traffic, self._interruption)
        variable = LaneVariable(values, Lane(f"variable {len(self._variables)}", self._interruption))
        self._variables.append(variable)
        if self.rank == 0:
            variable.write(buffer)
        self.barrier()
        return variable

    def close(self) -> None:
        """End the lanes and let go of the memory."""
        for variable in self._variables:
            variable.close()
        for lane, _ in self._lanes.values():
            lane.close()
        os.close(self.memory.descriptor)

    def _add_mean(self, buffer: Tensor, weight: float, root: int | None, lane: int) -> Operation:
        if buffer.dtype not in _SUMMED:
            raise DistributedError(f"a mean of {buffer.dtype} values; give float32, float64 or int64")
        changes = root is None or root == self.rank
        return self._add_operation(
            lane, buffer, lambda pieces, staged: pieces.mean(staged.array(), weight, root), changes=changes
        )

    def _add_operation(
        self, number: int, buffer: Tensor, work: Callable[[Pieces, StagedBuffer], None], *, changes: bool = True
    ) -> Operation:
        check_lane(number)
        if number not in self._lanes:
            self.memory.reserve(number)
            pieces = Pieces(self.memory, self.rank, number, self.traffic, self._interruption)
            self._lanes[number] = Lane(f"lane {number}", self._interruption), pieces
        lane, pieces = self._lanes[number]
        staged = StagedBuffer(buffer)

        def run() -> None:
            work(pieces, staged)
            if changes:
                staged.put_back()

        return lane.add(run)

    def _gather_in_cells(self, values: Sequence[float]) -> list[list[float]]:
        """By turns in two rows of cells: who is a turn ahead doesn't touch what others still read."""
        self._turn += 1
        memory, turn, row = self.memory, self._turn, self._turn % 2
        memory.cells[self.rank, row, : len(values)] = values
        memory.turns[self.rank, 1 + row] = len(values)
        fence()
        memory.turns[self.rank, 0] = turn
        waited = wait_until_none(
            lambda: np.flatnonzero(memory.turns[:, 0] < turn).tolist(), self._interruption, "a gather of numbers"
        )
        fence()
        self.traffic.add(waited=waited, count=8 * len(values) * self.size)
        if len(counts := set(memory.turns[:, 1 + row].tolist())) > 1:
            raise DistributedError(f"gather: workers give {sorted(counts)} numbers; all must give as many")
        rows: list[list[float]] = memory.cells[:, row, : len(values)].tolist()
        return rows


def variable_bytes(buffer: Tensor) -> int:
    """Return how many bytes of the shared memory a variable takes."""
    return _HEAD + whole_pages(buffer.nbytes)


class SharedMemoryValues:
    """The values as one worker sees them. The lock is the kernel's, which takes it back from a worker that dies."""

    def __init__(
        self, memory: SharedBlock, rank: int, start: int, like: Tensor, traffic: Traffic, interruption: Interruption
    ) -> None:
        self._rank, self._descriptor, self._start = rank, memory.descriptor, start
        self._traffic, self._interruption = traffic, interruption
        dtype = like.detach().new_empty(0, device="cpu").numpy().dtype
        mapped = mmap.mmap(self._descriptor, variable_bytes(like), offset=start)
        self._holder: Numbers = np.frombuffer(mapped, np.int64, 1)
        self._values: NDArray[Any] = np.frombuffer(mapped, dtype, like.numel(), _HEAD)

    def read(self, values: Tensor) -> None:
        """Fill a tensor with the variable's values."""
        with self._locked("read"):
            values.numpy()[:] = self._values

    def write(self, values: Tensor) -> None:
        """Set the variable."""
        with self._locked("write"):
            self._values[:] = values.numpy()

    def add(self, values: Tensor) -> None:
        """Add to the variable."""
        with self._locked("change"):
            np.add(self._values, values.numpy(), out=self._values)

    def leave(self) -> None:
        """Do nothing, since the memory ends with the last process that has it."""

    @contextmanager
    def _locked(self, doing: str) -> Iterator[None]:
        """While nobody else changes it."""
        waited = wait_until_none(self._other_holder, self._interruption, f"{doing} of the shared variable")
        fence()
        begun = time.monotonic()
        self._holder[0] = self._rank
        try:
            yield
        finally:
            fence()
            self._holder[0] = _FREE
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, self._start)
            _between_threads.release()
        self._traffic.add(waited=waited, moved=time.monotonic() - begun, count=self._values.nbytes)

    def _other_holder(self) -> list[int]:
        """Take the lock, or say who has it."""
        if _between_threads.acquire(blocking=False):
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._start)
                return []
            except (BlockingIOError, PermissionError):
                _between_threads.release()
        holder = int(self._holder[0])
        return [self._rank if holder == _FREE else holder]
