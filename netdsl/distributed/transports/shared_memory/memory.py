"""The memory that all workers share: a file without a name, so that nothing is left however they end."""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netdsl.distributed.transports.lane import LANES
from netdsl.errors import DistributedError

SLOTS = 4  # pieces of a buffer under way at once; three are in work, and one lets a worker fall behind a little
PIECE = 1 << 20  # bytes: what is under way stays in the cache
CELLS = 256  # numbers that one gather holds
CONTRIBUTED, REDUCED, COLLECTED = range(3)  # how many pieces a worker has written, added up, and needs no more
SENT, TAKEN = range(2)
_LINE = 8  # numbers in a line of the cache, so that workers who write don't disturb each other
_PAGE = mmap.ALLOCATIONGRANULARITY
_FOLDERS = ("/dev/shm", tempfile.gettempdir())
_fence = threading.Lock()

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]
Bytes = NDArray[np.uint8]


def fence() -> None:
    """Keep what was read and written before this before what comes after it, on processors that reorder both.

    A lock that is taken keeps what follows it after it, and one that is given back what precedes it before it; so it
    takes two.
    """
    with _fence:
        pass
    with _fence:
        pass


def create(size: int) -> int:
    """Make shared memory for so many workers, where there is room for it; returns its descriptor."""
    last_error: OSError | None = None
    for folder in _FOLDERS:
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                reserve(file.fileno(), 0, _header(size) + _lane(size))  # other lanes when they are used
                os.truncate(file.fileno(), _header(size) + LANES * _lane(size))
                return os.dup(file.fileno())
        except OSError as error:
            last_error = error
    raise DistributedError(f"no room for what {size} workers share: {last_error}; make some in {' or '.join(_FOLDERS)}")


def path_of(descriptor: int) -> str:
    """The path by which other processes of the same user open it, as long as this process has it."""
    return f"/proc/{os.getpid()}/fd/{descriptor}"


def attach(path: str) -> int:
    """Open the memory that another process made; returns a descriptor of our own."""
    try:
        return os.open(path, os.O_RDWR)
    except OSError as problem:
        raise DistributedError(f"{path}: the memory that workers share can't be opened: {problem.strerror}") from None


def reserve(descriptor: int, start: int, length: int) -> None:
    """Make sure that there is room for a part of a file, since writing where there is none ends the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, start, length)
    elif os.fstat(descriptor).st_size < start + length:
        os.truncate(descriptor, start + length)


def pages(length: int) -> int:
    """So many bytes as whole pages have."""
    return -(-length // _PAGE) * _PAGE


def _header(size: int) -> int:
    gathered, lanes = size * (_LINE + 2 * CELLS), LANES * size * (_LINE + 2 * SLOTS + 2 * size)
    return pages(8 * (gathered + lanes))


def _lane(size: int) -> int:
    return SLOTS * size * PIECE


class SharedBlock:
    """The memory as one worker sees it, laid out in counters, cells for numbers, and slots for pieces of buffers."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor, self.size = descriptor, size
        self.length = _header(size) + LANES * _lane(size)
        self._mapped = mmap.mmap(descriptor, self.length)
        self._used = 0
        self.turns: Numbers = self._take(np.int64, size, _LINE)  # gathers so far, and how many numbers in each
        self.cells: Reals = self._take(np.float64, size, 2, CELLS)
        self.counts: Numbers = self._take(np.int64, LANES, size, _LINE)
        self.requests: Numbers = self._take(np.int64, LANES, size, SLOTS)  # what the piece in a slot is part of
        self.weights: Reals = self._take(np.float64, LANES, size, SLOTS)
        self.mail: Numbers = self._take(np.int64, LANES, size, size, 2)  # pieces from one to another
        self._used = pages(self._used)
        self.slots: Bytes = self._take(np.uint8, LANES, SLOTS, size, PIECE)

    def _take(self, kind: type, *shape: int) -> Any:
        length = int(np.prod(shape))
        taken: NDArray[Any] = np.frombuffer(self._mapped, kind, length, self._used).reshape(shape)
        self._used += taken.nbytes
        return taken

    def reserve(self, lane: int) -> None:
        """Make sure that there is room for a lane."""
        try:
            reserve(self.descriptor, _header(self.size) + lane * _lane(self.size), _lane(self.size))
        except OSError as problem:
            raise DistributedError(f"no room in shared memory: {problem}; make some in {_FOLDERS[0]}") from None
