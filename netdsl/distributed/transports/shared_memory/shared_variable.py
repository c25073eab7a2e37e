"""A variable in shared memory, which one worker at a time may change."""

from __future__ import annotations

import fcntl
import mmap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from netdsl.distributed.communicator import Traffic
from netdsl.distributed.interruption import Interruption
from netdsl.distributed.transports.shared_memory.memory import PIECE, Numbers, SharedBlock, fence, pages
from netdsl.distributed.transports.shared_memory.waiting import wait_until_none
from netdsl.distributed.transports.staging import StagedBuffer
from netdsl.distributed.transports.weighted_mean import draw_together

_HEAD = pages(1)  # who has the lock
_FREE = -1


def room(buffer: Tensor) -> int:
    """How many bytes of the shared memory a variable takes."""
    return _HEAD + pages(buffer.nbytes)


class SharedMemoryVariable:
    """The variable as one worker sees it. The lock is the kernel's, which takes it back from whoever dies."""

    def __init__(
        self, memory: SharedBlock, rank: int, start: int, like: Tensor, traffic: Traffic, interruption: Interruption
    ) -> None:
        self._rank, self._descriptor, self._start = rank, memory.descriptor, start
        self._traffic, self._interruption = traffic, interruption
        dtype = like.detach().new_empty(0, device="cpu").numpy().dtype
        mapped = mmap.mmap(self._descriptor, room(like), offset=start)
        self._holder: Numbers = np.frombuffer(mapped, np.int64, 1)
        self._values: NDArray[Any] = np.frombuffer(mapped, dtype, like.numel(), _HEAD)

    def exchange(self, buffer: Tensor, alpha: float) -> None:
        """Draw the buffer and the variable together."""
        staged = StagedBuffer(buffer)
        values, length = staged.array(), PIECE // buffer.itemsize
        with self._alone("exchange", 2):
            for start in range(0, values.size, length):
                draw_together(values[start : start + length], self._values[start : start + length], alpha)
        staged.put_back()

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with the variable's values."""
        staged = StagedBuffer(buffer)
        values = staged.array()
        with self._alone("read", 1):
            values[:] = self._values
        staged.put_back()

    def write(self, buffer: Tensor) -> None:
        """Set the variable."""
        values = StagedBuffer(buffer).array()
        with self._alone("write", 1):
            self._values[:] = values

    @contextmanager
    def _alone(self, doing: str, ways: int) -> Iterator[None]:
        """While nobody else changes it."""
        waited = wait_until_none(self._other_holder, self._interruption, f"{doing} of the shared variable")
        begun = time.monotonic()
        self._holder[0] = self._rank
        try:
            yield
        finally:
            fence()
            self._holder[0] = _FREE
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, self._start)
        self._traffic.add(waited=waited, moved=time.monotonic() - begun, count=ways * self._values.nbytes)

    def _other_holder(self) -> list[int]:
        """Take the lock, or say who has it."""
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._start)
        except (BlockingIOError, PermissionError):
            holder = int(self._holder[0])
            return [self._rank if holder == _FREE else holder]
        return []
