"""A worker's side of the relay: its communicator and its connections to the driver."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from netdsl.distributed.communicator import Traffic
from netdsl.distributed.control.encryption import Endpoint
from netdsl.distributed.interruption import Interruption
from netdsl.distributed.transports.lanes import LANES, Lane, LaneVariable, Operation, StagedBuffer, check_lane
from netdsl.distributed.transports.relay.connection import (
    CONTROL,
    NUMBERS,
    RAW,
    REAL,
    SUMMED,
    TIMEOUT,
    Bytes,
    Connection,
    RelayOperation,
    RelayRequest,
    bytes_of,
)
from netdsl.errors import DistributedError, PeerLostError

_DTYPES: dict[torch.dtype, np.dtype[Any]] = dict(zip((torch.float32, torch.float64, torch.int64), SUMMED, strict=True))
_NOTHING: Bytes = np.empty(0, np.uint8)


class RelayCommunicator:
    """One of `size` workers that exchange through the driver. `connect` returns a connection that the relay uses for a
    lane.

    Means are added up in the order of ranks, with the same bits as in shared memory.
    """

    def __init__(
        self,
        connect: Callable[[int], Endpoint],
        rank: int,
        size: int,
        *,
        interruption: Interruption | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self.rank, self.size, self.traffic = rank, size, Traffic()
        self._variables = 0
        interruption = interruption or Interruption()
        self._lanes = [Lane(f"lane {number}", interruption) for number in range(LANES)]
        self._control_lane = Lane("control", interruption)
        self._links: dict[int, WorkerLink] = {}
        try:
            for number in (CONTROL, *range(LANES)):
                self._links[number] = _new_link(connect, number, timeout)
                self._links[number].await_welcome()
        except BaseException:
            self.close()
            raise

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Operation:
        """Replace every worker's buffer with the weighted mean of all buffers."""
        return self._add_exchange(
            lane, RelayRequest(RelayOperation.MEAN, _dtype_of(buffer), buffer.numel(), 0, weight), buffer
        )

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Operation:
        """Replace the root's buffer with the weighted mean."""
        request = RelayRequest(RelayOperation.REDUCE, _dtype_of(buffer), buffer.numel(), root, weight)
        return self._add_exchange(lane, request, buffer, takes=self.rank == root)

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Operation:
        """Replace every worker's buffer with the root's."""
        request, is_root = RelayRequest(RelayOperation.BROADCAST, RAW, buffer.nbytes, root), self.rank == root
        return self._add_exchange(lane, request, buffer, sends=is_root, takes=not is_root)

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Operation:
        """Send a buffer to another worker. The operation ends when the driver has passed the buffer on."""
        return self._add_exchange(lane, RelayRequest(RelayOperation.SEND, RAW, buffer.nbytes, to), buffer, takes=False)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Operation:
        """Fill a buffer with the values that another worker sends."""
        return self._add_exchange(
            lane, RelayRequest(RelayOperation.RECEIVE, RAW, buffer.nbytes, source), buffer, sends=False
        )

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Return the numbers of all workers, by rank. Gathers them in groups of the size that the driver accepts."""
        all_rows: list[list[float]] = [[] for _ in range(self.size)]
        for start in range(0, max(len(values), 1), NUMBERS):
            numbers = np.array(values[start : start + NUMBERS], REAL)
            rows = np.empty(self.size * numbers.size, REAL)
            request = RelayRequest(RelayOperation.GATHER, REAL, numbers.size)
            self._control_lane.do(partial(self._ask_driver, request, bytes_of(numbers), bytes_of(rows)))
            for row, more in zip(all_rows, rows.reshape(self.size, -1).tolist(), strict=True):
                row += more
        return all_rows

    def barrier(self) -> None:
        """Wait until all other workers have called this too."""
        self.gather([])

    def shared_variable(self, buffer: Tensor) -> LaneVariable:
        """Return a variable at the driver. The first worker sets its initial values."""
        if not buffer.is_floating_point():
            raise DistributedError(f"a shared variable can't have {buffer.dtype} values; use float32 or float64")
        request = RelayRequest(RelayOperation.VARIABLE, _dtype_of(buffer), buffer.numel())
        self._control_lane.do(lambda: self._ask_driver(request, _NOTHING, _NOTHING))
        variable = LaneVariable(RelayValues(self._ask_driver, self._variables), self._control_lane)
        self._variables += 1
        if self.rank == 0:
            variable.write(buffer)
        self.barrier()
        return variable

    def close(self) -> None:
        """Close all connections. Pending operations fail."""
        for link in self._links.values():
            link.end()
        for lane in (*self._lanes, self._control_lane):
            last = lane.add(_do_nothing)
            lane.close()
            with suppress(DistributedError):
                last.wait()
        for link in self._links.values():
            link.close()

    def _add_exchange(
        self, number: int, request: RelayRequest, buffer: Tensor, *, sends: bool = True, takes: bool = True
    ) -> Operation:
        check_lane(number)
        staged = StagedBuffer(buffer)

        def work() -> None:
            values = staged.bytes()
            sent, taken = values if sends else _NOTHING, values if takes else _NOTHING
            self._links[number].exchange(request, sent, taken, f"{request}, lane {number}", self.traffic)
            if takes:
                staged.put_back()

        return self._lanes[number].add(work)

    def _ask_driver(self, request: RelayRequest, sent: Bytes, taken: Bytes) -> None:
        """Exchange over the connection for requests without a lane."""
        self._links[CONTROL].exchange(request, sent, taken, str(request), self.traffic)


class WorkerLink:
    """A worker's connection to the driver.

    A separate thread sends, since the driver returns one piece while it receives the next.
    """

    def __init__(self, endpoint: Endpoint, lane: int, timeout: float) -> None:
        self._connection, self._sender = Connection(endpoint, "the driver", timeout), Lane(f"sender of lane {lane}")
        self._problem: DistributedError | None = None

    def await_welcome(self) -> None:
        """Wait until the driver has accepted the connection."""
        self._connection.await_assurance()

    def exchange(self, request: RelayRequest, sent: Bytes, taken: Bytes, doing: str, traffic: Traffic) -> None:
        """Send a request with its values to the driver, and receive the values that it returns."""
        if self._problem is not None:
            raise self._problem
        begun = time.monotonic()
        sending = self._sender.add(lambda: self._send_request(request, sent))
        try:
            self._connection.await_assurance()
            granted = time.monotonic()
            self._connection.take(taken)
            self._connection.await_assurance()
        except DistributedError as problem:
            self._problem = PeerLostError(f"{doing}: {problem}") if isinstance(problem, PeerLostError) else problem
            self._connection.end()
            raise self._problem from None
        finally:
            with suppress(PeerLostError):  # receiving has failed too then
                sending.wait()
        traffic.add(waited=granted - begun, moved=time.monotonic() - granted, count=sent.size + taken.size)

    def end(self) -> None:
        """Make all pending operations fail."""
        self._connection.end()

    def close(self) -> None:
        """Close the connection. No operation may be pending."""
        self._sender.close()
        self._connection.close()

    def _send_request(self, request: RelayRequest, sent: Bytes) -> None:
        self._connection.send(request.packed())
        self._connection.send_pieces(sent)


class RelayValues:
    """The values of a shared variable at the driver. `ask` sends a request with its bytes there."""

    def __init__(self, ask: Callable[[RelayRequest, Bytes, Bytes], None], number: int) -> None:
        self._ask_driver, self._number = ask, number

    def read(self, values: Tensor) -> None:
        """Fill a tensor with the variable's values."""
        self._ask_driver(self._request_for(RelayOperation.READ, values), _NOTHING, bytes_of(values.numpy()))

    def write(self, values: Tensor) -> None:
        """Set the variable to a tensor's values."""
        self._ask_driver(self._request_for(RelayOperation.WRITE, values), bytes_of(values.numpy()), _NOTHING)

    def add(self, values: Tensor) -> None:
        """Add a tensor's values to the variable's."""
        self._ask_driver(self._request_for(RelayOperation.ADD, values), bytes_of(values.numpy()), _NOTHING)

    def leave(self) -> None:
        """Do nothing, since the driver sees the end of the connection."""

    def _request_for(self, operation: RelayOperation, values: Tensor) -> RelayRequest:
        return RelayRequest(operation, _dtype_of(values), values.numel(), self._number)


def _dtype_of(buffer: Tensor) -> np.dtype[Any]:
    """Return the type in which the driver adds up."""
    if buffer.dtype not in _DTYPES:
        raise DistributedError(f"{buffer.dtype} values can't be added up; use float32, float64 or int64")
    return _DTYPES[buffer.dtype]


def _new_link(connect: Callable[[int], Endpoint], number: int, timeout: float) -> WorkerLink:
    try:
        return WorkerLink(connect(number), number, timeout)
    except OSError as problem:
        raise PeerLostError(f"the driver can't be reached: {problem}") from None


def _do_nothing() -> None:
    """Do nothing; marks the end of a lane, behind all earlier operations."""
