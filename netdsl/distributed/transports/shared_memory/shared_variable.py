"""The values of a variable in shared memory, which one worker at a time may change."""

from __future__ import annotations

import fcntl
import mmap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from netdsl.distributed.communicator import Traffic
from netdsl.distributed.interruption import Interruption
from netdsl.distributed.transports.shared_memory.memory import Numbers, SharedBlock, fence, pages
from netdsl.distributed.transports.waiting import wait_until_none

_HEAD = pages(1)  # who has the lock
_FREE = -1
_between_threads = threading.Lock()  # the kernel's lock is between processes


def room(buffer: Tensor) -> int:
    """How many bytes of the shared memory a variable takes."""
    return _HEAD + pages(buffer.nbytes)


class SharedMemoryValues:
    """The values as one worker sees them. The lock is the kernel's, which takes it back from whoever dies."""

    def __init__(
        self, memory: SharedBlock, rank: int, start: int, like: Tensor, traffic: Traffic, interruption: Interruption
    ) -> None:
        self._rank, self._descriptor, self._start = rank, memory.descriptor, start
        self._traffic, self._interruption = traffic, interruption
        dtype = like.detach().new_empty(0, device="cpu").numpy().dtype
        mapped = mmap.mmap(self._descriptor, room(like), offset=start)
        self._holder: Numbers = np.frombuffer(mapped, np.int64, 1)
        self._values: NDArray[Any] = np.frombuffer(mapped, dtype, like.numel(), _HEAD)

    def read(self, values: Tensor) -> None:
        """Fill a tensor with the variable's values."""
        with self._alone("read"):
            values.numpy()[:] = self._values

    def write(self, values: Tensor) -> None:
        """Set the variable."""
        with self._alone("write"):
            self._values[:] = values.numpy()

    def add(self, values: Tensor) -> None:
        """Add to the variable."""
        with self._alone("change"):
            np.add(self._values, values.numpy(), out=self._values)

    def leave(self) -> None:
        """Do nothing, since the memory ends with the last process that has it."""

    @contextmanager
    def _alone(self, doing: str) -> Iterator[None]:
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
