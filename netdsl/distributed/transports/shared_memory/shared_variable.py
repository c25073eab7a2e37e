"""A variable in shared memory, which one worker at a time may change."""

from __future__ import annotations

import fcntl
import mmap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from netdsl.distributed.traffic import Traffic
from netdsl.distributed.transports.shared_memory.memory import PIECE, Numbers, fence, pages
from netdsl.distributed.transports.shared_memory.waiting import Patience
from netdsl.distributed.transports.weighted_mean import draw_together

_HEAD = pages(1)  # who has the lock
_FREE = -1


def room(buffer: Tensor) -> int:
    """How many bytes of the shared file it takes."""
    return _HEAD + pages(buffer.nbytes)


class SharedMemoryVariable:
    """The variable as one worker sees it. The lock is the kernel's, which takes it back from whoever dies."""

    def __init__(self, patience: Patience, count: Callable[[Traffic], None], start: int, like: Tensor) -> None:
        self._patience, self._count, self._start = patience, count, start
        self._rank, self._descriptor = patience.rank, patience.memory.descriptor
        values = like.detach().view(-1).numpy()
        mapped = mmap.mmap(self._descriptor, room(like), offset=start)
        self._holder: Numbers = np.frombuffer(mapped, np.int64, 1)
        self._values: NDArray[Any] = np.frombuffer(mapped, values.dtype, values.size, _HEAD)

    def exchange(self, buffer: Tensor, alpha: float) -> None:
        """Draw the buffer and the variable together."""
        own, length = buffer.detach().view(-1).numpy(), PIECE // buffer.itemsize
        with self._alone("exchange", 2):
            for start in range(0, own.size, length):
                draw_together(own[start : start + length], self._values[start : start + length], alpha)

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with what it is now."""
        with self._alone("read", 1):
            buffer.detach().view(-1).numpy()[:] = self._values

    def write(self, buffer: Tensor) -> None:
        """Set it."""
        with self._alone("write", 1):
            self._values[:] = buffer.detach().view(-1).numpy()

    @contextmanager
    def _alone(self, doing: str, ways: int) -> Iterator[None]:
        """While nobody else changes it."""
        waited = self._patience.until(self._holders, f"{doing} of the centre")
        begun = time.monotonic()
        self._holder[0] = self._rank
        try:
            yield
        finally:
            fence()
            self._holder[0] = _FREE
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, self._start)
        self._patience.memory.give_sign(self._rank)
        self._count(Traffic(waited, time.monotonic() - begun, ways * self._values.nbytes))

    def _holders(self) -> list[int]:
        """Take the lock, or say who has it."""
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._start)
        except (BlockingIOError, PermissionError):
            holder = int(self._holder[0])
            return [self._rank if holder == _FREE else holder]
        return []
