"""The memory that workers of a machine share. Exchanges use pieces that are small enough to stay in the cache."""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netdsl.distributed.communicator import Traffic
from netdsl.distributed.interruption import Interruption, Missing, wait_until_none
from netdsl.distributed.transports.lanes import LANES
from netdsl.distributed.transports.weighted_mean import Array, add_up, scales_of
from netdsl.errors import DistributedError

SLOTS = 4  # pieces of a buffer in transfer at once: three in work, and one so that a worker may fall behind a little
PIECE = 1 << 20  # bytes; small enough that pieces in transfer stay in the cache
CELLS = 256  # the most numbers that one gather accepts
# Counts of the pieces that a worker has written, added up, and finished with.
CONTRIBUTED, REDUCED, COLLECTED = range(3)
SENT, TAKEN = range(2)
_LINE = 8  # numbers in a cache line; separate lines keep workers from slowing each other down when they write
_PAGE = mmap.ALLOCATIONGRANULARITY
_FOLDERS = ("/dev/shm", tempfile.gettempdir())
_fence = threading.Lock()

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]
Bytes = NDArray[np.uint8]
_ALIGNED = 16  # shares are multiples of this number of values


def fence() -> None:
    """Keep all earlier reads and writes before all later ones, even on processors that reorder memory accesses.

    Acquiring a lock keeps later accesses after it, and releasing a lock keeps earlier accesses before it. The lock is
    therefore acquired and released twice.
    """
    with _fence:
        pass
    with _fence:
        pass


def create_memory(size: int) -> int:
    """Create shared memory for this many workers in a folder that has room for it. Returns its descriptor."""
    last_error: OSError | None = None
    for folder in _FOLDERS:
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                # Other lanes are reserved when they are first used.
                reserve(file.fileno(), 0, _header_bytes(size) + _lane_bytes(size))
                os.truncate(file.fileno(), _header_bytes(size) + LANES * _lane_bytes(size))
                return os.dup(file.fileno())
        except OSError as error:
            last_error = error
    raise DistributedError(
        f"the memory that {size} workers share can't be created: {last_error}; free some space in "
        f"{' or '.join(_FOLDERS)}"
    )


def path_of_memory(descriptor: int) -> str:
    """Return the path by which other processes of the same user open the memory while this process holds it."""
    return f"/proc/{os.getpid()}/fd/{descriptor}"


def attach_memory(path: str) -> int:
    """Open the memory that another process created. Returns a new descriptor."""
    try:
        return os.open(path, os.O_RDWR)
    except OSError as problem:
        raise DistributedError(
            f"{path}: the memory that workers share can't be opened: {problem.strerror}; check that /dev/shm exists "
            "and is writable"
        ) from None


def reserve(descriptor: int, start: int, length: int) -> None:
    """Allocate the space of a part of a file, since writing to unallocated space can kill the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, start, length)
    elif os.fstat(descriptor).st_size < start + length:
        os.truncate(descriptor, start + length)


def whole_pages(length: int) -> int:
    """Round a number of bytes up to whole pages."""
    return -(-length // _PAGE) * _PAGE


def _header_bytes(size: int) -> int:
    gathered, lanes = size * (_LINE + 2 * CELLS), LANES * size * (_LINE + 2 * SLOTS + 2 * size)
    return whole_pages(8 * (gathered + lanes))


def _lane_bytes(size: int) -> int:
    return SLOTS * size * PIECE


class SharedBlock:
    """The shared memory as one worker sees it, divided into counters, cells for numbers, and slots for pieces of
    buffers."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor, self.size = descriptor, size
        self.length = _header_bytes(size) + LANES * _lane_bytes(size)
        self._mapped = mmap.mmap(descriptor, self.length)
        self._used = 0
        self.turns: Numbers = self._take_room(np.int64, size, _LINE)  # number of gathers so far, and of values in each
        self.cells: Reals = self._take_room(np.float64, size, 2, CELLS)
        self.counts: Numbers = self._take_room(np.int64, LANES, size, _LINE)
        # A hash of the request to which the piece in a slot belongs.
        self.requests: Numbers = self._take_room(np.int64, LANES, size, SLOTS)
        self.weights: Reals = self._take_room(np.float64, LANES, size, SLOTS)
        # Counts of pieces from one worker to another.
        self.mail: Numbers = self._take_room(np.int64, LANES, size, size, 2)
        self._used = whole_pages(self._used)
        self.slots: Bytes = self._take_room(np.uint8, LANES, SLOTS, size, PIECE)

    def _take_room(self, kind: type, *shape: int) -> Any:
        length = int(np.prod(shape))
        taken: NDArray[Any] = np.frombuffer(self._mapped, kind, length, self._used).reshape(shape)
        self._used += taken.nbytes
        return taken

    def reserve(self, lane: int) -> None:
        """Allocate the memory of a lane."""
        try:
            reserve(self.descriptor, _header_bytes(self.size) + lane * _lane_bytes(self.size), _lane_bytes(self.size))
        except OSError as problem:
            raise DistributedError(
                f"the shared memory for another lane can't be allocated: {problem}; free some space in {_FOLDERS[0]}"
            ) from None


class Pieces:
    """One lane of a worker. The same number of pieces passes through the lane of every worker."""

    def __init__(self, memory: SharedBlock, rank: int, lane: int, traffic: Traffic, interruption: Interruption) -> None:
        self.memory, self.rank, self._traffic, self._interruption = memory, rank, traffic, interruption
        self.lane, self.size = lane, self.memory.size
        self.counts, self.slots = self.memory.counts[lane], self.memory.slots[lane]
        self.passed = 0
        self.request, self.doing = 0, ""
        self.waited, self.bytes = 0.0, 0

    def mean(self, buffer: Array, weight: float, root: int | None) -> None:
        """Compute the weighted mean, for all workers or for the root."""
        begun = self._begin_exchange(
            f"{'mean' if root is None else f'reduce to {root}'} of {buffer.size} {buffer.dtype}"
        )
        parts = list(_pieces_of(buffer))
        collects = root is None or root == self.rank
        for step in range(len(parts) + 2):
            if step < len(parts):
                self._contribute_shares(parts[step], self.passed + step, weight)
            if 1 <= step <= len(parts):
                self._add_up_share(parts[step - 1], self.passed + step - 1, step == 1, collects)
            if step >= 2:
                self._collect_shares(parts[step - 2], self.passed + step - 2, collects)
        self._end_exchange(begun, len(parts))

    def broadcast(self, buffer: Bytes, root: int) -> None:
        """Copy the root's buffer to all workers."""
        begun = self._begin_exchange(f"broadcast of {buffer.size} bytes from {root}")
        parts = list(_pieces_of(buffer))
        for number, part in enumerate(parts, self.passed):
            if self.rank == root:
                self._wait_for_slot(number)
                self._write_piece(number, part)
            else:
                self._wait_for_counts([root], CONTRIBUTED, number + 1)
                self._check_requests([root], number) if number == self.passed else None
                part[:] = self._piece_in_slot(number, root, part)
            self.bytes += part.nbytes
            self._mark_done(number + 1, CONTRIBUTED, REDUCED, COLLECTED)
        self._end_exchange(begun, len(parts))

    def send(self, buffer: Bytes, to: int) -> None:
        """Send bytes to another worker. Returns when that worker has received them all."""
        begun = self._begin_exchange(f"send of {buffer.size} bytes from {self.rank} to {to}")
        mail, parts = self.memory.mail[self.lane, self.rank, to], list(_pieces_of(buffer))
        self._wait_for_counts(self._others(), COLLECTED, self.passed)
        first = int(mail[SENT])
        for number, part in enumerate(parts, first):
            self._wait_for_mail(mail, TAKEN, number - SLOTS + 1, to)
            self._write_piece(number, part)
            fence()
            mail[SENT] = number + 1
        self._wait_for_mail(mail, TAKEN, first + len(parts), to)
        self._end_exchange(begun, 0, buffer.nbytes)

    def receive(self, buffer: Bytes, source: int) -> None:
        """Receive bytes from another worker."""
        begun = self._begin_exchange(f"send of {buffer.size} bytes from {source} to {self.rank}")
        mail = self.memory.mail[self.lane, source, self.rank]
        first = int(mail[TAKEN])
        for number, part in enumerate(_pieces_of(buffer), first):
            self._wait_for_mail(mail, SENT, number + 1, source)
            if number == first:
                self._check_requests([source], number)
            part[:] = self._piece_in_slot(number, source, part)
            fence()
            mail[TAKEN] = number + 1
        self._end_exchange(begun, 0, buffer.nbytes)

    def _begin_exchange(self, doing: str) -> float:
        self.doing, self.request = f"{doing}, lane {self.lane}", zlib.crc32(doing.encode())
        self.waited, self.bytes = 0.0, 0
        return time.monotonic()

    def _end_exchange(self, begun: float, passed: int, moved: int = 0) -> None:
        self.passed += passed
        seconds = time.monotonic() - begun - self.waited
        self._traffic.add(waited=self.waited, moved=seconds, count=self.bytes + moved)

    def _contribute_shares(self, part: Array, number: int, weight: float) -> None:
        """Write the shares that other workers add up."""
        self._wait_for_slot(number)
        slot = self._piece_in_slot(number, self.rank, part)
        self.memory.weights[self.lane, self.rank, number % SLOTS] = weight
        self.memory.requests[self.lane, self.rank, number % SLOTS] = self.request
        for owner in self._others():
            share = self._share_of(part, owner)
            slot[share] = part[share]
            self.bytes += part[share].nbytes
        self._mark_done(number + 1, CONTRIBUTED)

    def _add_up_share(self, part: Array, number: int, first: bool, collects: bool) -> None:
        """Add up this worker's share in its own slot, at the place to which no other worker writes."""
        all_ranks = list(range(self.size))
        self._wait_for_counts(all_ranks, CONTRIBUTED, number + 1)
        if first:
            self._check_requests(all_ranks, number)
        weights = self.memory.weights[self.lane, :, number % SLOTS].tolist()
        share = self._share_of(part, self.rank)
        shares = [
            part[share] if rank == self.rank else self._piece_in_slot(number, rank, part)[share] for rank in all_ranks
        ]
        mean = self._piece_in_slot(number, self.rank, part)[share]
        add_up(shares, scales_of(weights, self.doing), mean)
        if collects:
            part[share] = mean
        self.bytes += 2 * (self.size - 1) * mean.nbytes
        self._mark_done(number + 1, REDUCED)

    def _collect_shares(self, part: Array, number: int, collects: bool) -> None:
        """Copy the sums of the other workers' shares."""
        if collects:
            self._wait_for_counts(self._others(), REDUCED, number + 1)
            for owner in self._others():
                share = self._share_of(part, owner)
                part[share] = self._piece_in_slot(number, owner, part)[share]
                self.bytes += part[share].nbytes
        self._mark_done(number + 1, COLLECTED)

    def _others(self) -> list[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    def _share_of(self, part: Array, owner: int) -> slice:
        length = -(-part.size // (self.size * _ALIGNED)) * _ALIGNED
        return slice(owner * length, (owner + 1) * length)

    def _piece_in_slot(self, number: int, rank: int, part: Array) -> Array:
        """Return the part of a worker's slot that contains a piece."""
        found: Array = self.slots[number % SLOTS, rank, : part.nbytes].view(part.dtype)
        return found

    def _write_piece(self, number: int, part: Bytes) -> None:
        self.memory.requests[self.lane, self.rank, number % SLOTS] = self.request
        self._piece_in_slot(number, self.rank, part)[:] = part

    def _mark_done(self, number: int, *counts: int) -> None:
        fence()
        for count in counts:
            self.counts[self.rank, count] = number

    def _wait_for_slot(self, number: int) -> None:
        """Wait until no worker needs the slot's previous piece."""
        self._wait_for_counts(self._others(), COLLECTED, number - SLOTS + 1)

    def _wait_for_counts(self, ranks: list[int], count: int, number: int) -> None:
        counts = self.counts
        self._wait_until_there(lambda: [rank for rank in ranks if counts[rank, count] < number])

    def _wait_for_mail(self, mail: Array, count: int, number: int, other: int) -> None:
        self._wait_until_there(lambda: [other] if mail[count] < number else [])

    def _wait_until_there(self, missing: Missing) -> None:
        self.waited += wait_until_none(missing, self._interruption, self.doing)
        fence()

    def _check_requests(self, ranks: list[int], number: int) -> None:
        """Raise a `DistributedError` unless the other workers requested the same operation."""
        requests = self.memory.requests[self.lane, :, number % SLOTS]
        for rank in ranks:
            if requests[rank] != self.request:
                raise DistributedError(
                    f"{self.doing}: worker {rank} and worker {self.rank} request different operations, but all "
                    "workers must have the same net and request the same operations in the same order; start "
                    "them with the same program"
                )


def _pieces_of(buffer: Array) -> Iterator[Array]:
    """Yield the pieces of a buffer. Yields at least one piece, so an empty buffer is an exchange too."""
    length = PIECE // buffer.itemsize
    for start in range(0, max(buffer.size, 1), length):
        yield buffer[start : start + length]
