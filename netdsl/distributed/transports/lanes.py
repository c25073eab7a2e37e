"""Lanes: operations that a thread runs one after the other while the worker computes, on buffers staged for them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netdsl.distributed.interruption import Interruption
from netdsl.errors import DistributedError, PeerLostError

LANES = 4  # number of lanes of every communicator
_GRACE = 5.0  # seconds for a thread to end


class Operation:
    """One operation of a lane, which also serves as the caller's handle."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._over = threading.Event()
        self._problem: Exception | None = None

    def run(self, problem: Exception | None) -> Exception | None:
        """Do the work, unless there was a problem before. Returns the problem, if any."""
        try:
            if problem is None:
                self._work()
        except Exception as error:  # any error is raised again in the thread that waits for the operation
            problem = error
        self.end(problem)
        return problem

    def end(self, problem: Exception | None) -> None:
        """Wake all waiting threads. Only the first call counts."""
        if not self._over.is_set():
            self._problem = problem
            self._over.set()

    def done(self) -> bool:
        """Return whether the operation has ended. Never waits."""
        return self._over.is_set()

    def wait(self) -> None:
        """Wait until the operation has ended. Raises its problem, if any."""
        self._over.wait()
        if self._problem is not None:
            raise self._problem


class Lane:
    """A thread with a queue of operations.

    After an operation fails, all later ones fail too, since the state of the other workers is unknown. An interruption
    wakes all threads that wait for operations, even if the lane's own thread is stuck.
    """

    def __init__(self, name: str, interruption: Interruption | None = None) -> None:
        self._queue: SimpleQueue[Operation | None] = SimpleQueue()
        self._pending: set[Operation] = set()
        self._changing = threading.Lock()
        self._lost: PeerLostError | None = None
        self._problem: Exception | None = None  # of an operation; all later ones fail too
        self._thread = threading.Thread(target=self._run_operations, name=name, daemon=True)
        self._thread.start()
        if interruption is not None:
            interruption.listen(self._interrupt)

    def add(self, work: Callable[[], object]) -> Operation:
        """Queue this work behind all earlier work."""
        operation = Operation(work)
        with self._changing:
            self._pending.add(operation)
            if self._lost is not None:
                operation.end(self._lost)
        self._queue.put(operation)
        return operation

    def begin(self, steps: Iterator[None]) -> Operation:
        """Queue work in steps, the first of which never waits.

        If the lane is idle, the calling thread takes that step, because it takes time to wake the lane's thread.
        """
        with self._changing:
            is_idle = not (self._pending or self._lost or self._problem)
        if is_idle:
            try:
                next(steps, None)
            except Exception as problem:  # the thread that waits for the operation raises it
                return self.add(partial(_raise, problem))
        return self.add(partial(run_steps, steps))

    def do(self, work: Callable[[], object]) -> None:
        """Queue this work behind all earlier work, and wait until it is done."""
        self.add(work).wait()

    def close(self) -> None:
        """End the thread after all queued work, and wait for that if no work is left.

        A thread that is still working when Python ends can end the process with SIGABRT.
        """
        self._queue.put(None)
        with self._changing:
            is_idle = self._lost is None and all(operation.done() for operation in self._pending)
        if is_idle:
            self._thread.join(_GRACE)

    def _interrupt(self, problem: PeerLostError) -> None:
        with self._changing:
            self._lost = problem
            for operation in self._pending:
                operation.end(problem)

    def _run_operations(self) -> None:
        while operation := self._queue.get():
            self._problem = operation.run(self._problem or self._lost)
            with self._changing:
                self._pending.discard(operation)


def run_steps(steps: Iterator[None]) -> None:
    """Run the steps that are left of an operation."""
    deque(steps, maxlen=0)


def _raise(problem: Exception) -> None:
    raise problem


def check_lane(number: int) -> None:
    """Raise a `DistributedError` if the lane doesn't exist."""
    if not 0 <= number < LANES:
        raise DistributedError(f"there is no lane {number}; use one from 0 to {LANES - 1}")


class StagedBuffer:
    """A buffer in main memory, or a buffer on a GPU with a copy in pinned memory."""

    def __init__(self, buffer: Tensor) -> None:
        if buffer.device.type not in ("cpu", "cuda"):
            raise DistributedError(
                f"a buffer on {buffer.device} can't be exchanged; move it with .to('cpu') or .to('cuda')"
            )
        self._buffer = self.host = buffer.detach().view(-1)
        self._ready: torch.cuda.Event | None = None
        if buffer.is_cuda:
            self.host = torch.empty_like(self._buffer, device="cpu", pin_memory=True)
            self._ready = torch.cuda.current_stream(buffer.device).record_event()

    def fetch(self) -> Tensor:
        """Return the values in main memory, after waiting until they are computed."""
        if self._ready is not None:
            self._ready.synchronize()
            self.host.copy_(self._buffer)
        return self.host

    def array(self) -> NDArray[Any]:
        """Return the values as a numpy array."""
        values: NDArray[Any] = self.fetch().numpy()
        return values

    def bytes(self) -> NDArray[np.uint8]:
        """Return the bytes of the values, whatever their type."""
        raw: NDArray[np.uint8] = self.fetch().view(torch.uint8).numpy()
        return raw

    def put_back(self) -> None:
        """Copy the values in main memory back to the buffer."""
        if self.host is not self._buffer:
            self._buffer.copy_(self.host)


class VariableValues(Protocol):
    """The values of a shared variable, wherever they are stored. Each operation excludes changes by other workers.

    Operations accept a flat tensor in main memory, and block.
    """

    def read(self, values: Tensor) -> None:
        """Fill a tensor with the variable's values."""
        ...

    def write(self, values: Tensor) -> None:
        """Set the variable to a tensor's values."""
        ...

    def add(self, values: Tensor) -> None:
        """Add a tensor's values to the variable's."""
        ...

    def leave(self) -> None:
        """Declare that this worker no longer needs the variable."""
        ...


class LaneVariable:
    """A shared variable as one worker sees it. The worker's operations on it keep their order in a lane."""

    def __init__(self, values: VariableValues, lane: Lane) -> None:
        self._values, self._lane = values, lane
        self._difference: Tensor | None = None  # the one that is pushed

    def exchange(self, buffer: Tensor, alpha: float) -> Operation:
        """Move the buffer towards the variable, and push the difference to the variable."""
        staged = StagedBuffer(buffer)
        values = staged.fetch()
        if self._difference is None or self._difference.shape != values.shape:
            self._difference = torch.empty_like(values)
        difference = self._difference
        self._lane.do(lambda: self._values.read(difference))
        torch.sub(values, difference, out=difference).mul_(alpha)
        values.sub_(difference)
        staged.put_back()
        return self._lane.add(lambda: self._values.add(difference))

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with the variable's values."""
        staged = StagedBuffer(buffer)
        self._lane.do(lambda: self._values.read(staged.host))
        staged.put_back()

    def write(self, buffer: Tensor) -> None:
        """Set the variable to a buffer's values."""
        values = StagedBuffer(buffer).fetch()
        self._lane.do(lambda: self._values.write(values))

    def close(self) -> None:
        """Leave the variable, after all pending operations."""
        with suppress(DistributedError):  # other workers notice the loss of this one anyway
            self._lane.do(self._values.leave)
        self._lane.close()
