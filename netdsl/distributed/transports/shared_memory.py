"""A communicator for processes on one machine. Buffers pass through memory that all of them share."""

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

_HEAD = whole_pages(1)  # bytes for the rank that holds the lock
_FREE = -1
_between_threads = threading.Lock()  # needed since the kernel's lock only excludes other processes
_SUMMED = (torch.float32, torch.float64, torch.int64)


class SharedMemoryCommunicator:
    """One of `size` workers that share the memory behind a descriptor, which the communicator closes at the end.

    Means are added up in the order of ranks. Buffers on GPUs are copied through pinned memory.
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
        """Replace every worker's buffer with the weighted mean of all buffers."""
        return self._add_mean(buffer, weight, None, lane)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Operation:
        """Replace the root's buffer with the weighted mean."""
        return self._add_mean(buffer, weight, root, lane)

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Operation:
        """Replace every worker's buffer with the root's."""
        return self._add_operation(lane, buffer, lambda pieces, staged: pieces.broadcast(staged.bytes(), root))

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Operation:
        """Send a buffer to another worker. The operation ends when that worker has received the whole buffer."""
        return self._add_operation(lane, buffer, lambda pieces, staged: pieces.send(staged.bytes(), to), changes=False)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Operation:
        """Fill a buffer with the values that another worker sends."""
        return self._add_operation(lane, buffer, lambda pieces, staged: pieces.receive(staged.bytes(), source))

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Return the numbers of all workers, by rank. Gathers them in groups that fit the cells."""
        rows: list[list[float]] = [[] for _ in range(self.size)]
        for start in range(0, max(len(values), 1), CELLS):
            for row, more in zip(rows, self._gather_in_cells(values[start : start + CELLS]), strict=True):
                row += more
        return rows

    def barrier(self) -> None:
        """Wait until all other workers have called this too."""
        self._gather_in_cells([])

    def shared_variable(self, buffer: Tensor) -> LaneVariable:
        """Return a variable at the end of the memory. The first worker sets its initial values."""
        start, self._end = self._end, self._end + variable_bytes(buffer)
        problem = ""
        if self.rank == 0:
            try:
                reserve(self.memory.descriptor, start, variable_bytes(buffer))
            except OSError as error:
                problem = str(error)
        if any(failed for (failed,) in self.gather([float(bool(problem))])):
            raise DistributedError(
                f"a variable of {buffer.nbytes} bytes doesn't fit into shared memory: {problem}; enlarge /dev/shm, "
                "or choose the transport gloo"
            )
        values = SharedMemoryValues(self.memory, self.rank, start, buffer, self.traffic, self._interruption)
        variable = LaneVariable(values, Lane(f"variable {len(self._variables)}", self._interruption))
        self._variables.append(variable)
        if self.rank == 0:
            variable.write(buffer)
        self.barrier()
        return variable

    def close(self) -> None:
        """End the lanes and release the memory."""
        for variable in self._variables:
            variable.close()
        for lane, _ in self._lanes.values():
            lane.close()
        os.close(self.memory.descriptor)

    def _add_mean(self, buffer: Tensor, weight: float, root: int | None, lane: int) -> Operation:
        if buffer.dtype not in _SUMMED:
            raise DistributedError(f"{buffer.dtype} values can't be averaged; use float32, float64 or int64")
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
        """Gather numbers, alternating between two rows of cells.

        A worker that is one turn ahead doesn't overwrite numbers that others still read.
        """
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
            raise DistributedError(
                f"gather: the workers pass different numbers of values: {sorted(counts)}, but all must pass the "
                "same number; pad the shorter ones"
            )
        rows: list[list[float]] = memory.cells[:, row, : len(values)].tolist()
        return rows


def variable_bytes(buffer: Tensor) -> int:
    """Return the bytes of shared memory that a variable needs."""
    return _HEAD + whole_pages(buffer.nbytes)


class SharedMemoryValues:
    """The values as one worker sees them. The kernel releases the lock if the worker that holds it dies."""

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
        """Set the variable to a tensor's values."""
        with self._locked("write"):
            self._values[:] = values.numpy()

    def add(self, values: Tensor) -> None:
        """Add a tensor's values to the variable's."""
        with self._locked("change"):
            np.add(self._values, values.numpy(), out=self._values)

    def leave(self) -> None:
        """Do nothing, since the memory is released with the last process that holds it."""

    @contextmanager
    def _locked(self, doing: str) -> Iterator[None]:
        """Hold the variable's lock inside the context."""
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
        """Acquire the lock. Returns the rank that holds it, or an empty list on success."""
        if _between_threads.acquire(blocking=False):
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._start)
                return []
            except (BlockingIOError, PermissionError):
                _between_threads.release()
        holder = int(self._holder[0])
        return [self._rank if holder == _FREE else holder]
