"""A communicator over MPI. Buffers are sent directly from their own memory."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from netdsl.distributed.communicator import Communicator, Traffic
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.interruption import Interruption
from netdsl.distributed.transports.connect import connect as connect_otherwise
from netdsl.distributed.transports.lanes import (
    LANES,
    Lane,
    LaneVariable,
    Operation,
    StagedBuffer,
    check_lane,
    run_steps,
)
from netdsl.distributed.transports.transport import Transport
from netdsl.distributed.transports.weighted_mean import Array, OrderedSum, bytes_of_mean, scales_of
from netdsl.errors import DistributedError
from netdsl.mpi.library import MpiGroup, mpi, mpi_errors, pieces, world

_DOING = "the shared variable"
_NAP = 0.001  # seconds between two checks for other ranks' requests to the first rank
_SUMMED = (torch.float32, torch.float64, torch.int64)


def connect(transport: Transport, control: ControlClient, rank: int, size: int, device: torch.device) -> Communicator:
    """Return a rank's communicator, over MPI or over any other transport."""
    match transport:
        case Transport.MPI:
            return MpiCommunicator(world(), control.interruption)
        case Transport.MPI_BY_NODE:
            node = world().Split_type(mpi().COMM_TYPE_SHARED)
            return MpiCommunicator(world(), control.interruption, node=node)
        case _:
            return connect_otherwise(transport, control, rank, size, device)


class MpiCommunicator:
    """One of the ranks of an MPI communicator. Each lane has a duplicate of that communicator.

    Means are added up in the order of ranks, with the same bits as in the other transports. `node` is a communicator of
    the ranks of this machine. With it, each machine adds up the values of its ranks before machines exchange anything.
    The last bits then depend on which ranks share a machine. Buffers on GPUs are copied through pinned memory.
    """

    def __init__(self, communicator: Any, interruption: Interruption | None = None, *, node: Any = None) -> None:
        self.rank, self.size, self.traffic = communicator.rank, communicator.size, Traffic()
        self.interruption = interruption or Interruption()
        self._group = self._duplicate(communicator)
        self._lanes = [self._new_lane(number, communicator, node) for number in range(LANES)]
        self._variables: list[LaneVariable] = []

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Operation:
        """Replace every worker's buffer with the weighted mean of all buffers."""
        return self._add_mean(buffer, weight, None, lane)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Operation:
        """Replace the root's buffer with the weighted mean."""
        return self._add_mean(buffer, weight, root, lane)

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Operation:
        """Replace every worker's buffer with the root's."""
        doing = f"broadcast of {buffer.nbytes} bytes from {root}"

        def work(mpi_lane: _MpiLane, staged: StagedBuffer) -> None:
            mpi_lane.agree(doing)
            mpi_lane.group.broadcast(staged.bytes(), root, doing)

        return self._add_operation(lane, buffer, work)

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Operation:
        """Send a buffer to another worker."""

        def work(mpi_lane: _MpiLane, staged: StagedBuffer) -> None:
            mpi_lane.group.send(staged.bytes(), to, f"send to worker {to}")

        return self._add_operation(lane, buffer, work, changes=False)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Operation:
        """Fill a buffer with the values that another worker sends."""

        def work(mpi_lane: _MpiLane, staged: StagedBuffer) -> None:
            mpi_lane.group.receive(staged.bytes(), source, f"receive from worker {source}")

        return self._add_operation(lane, buffer, work)

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Return the numbers of all workers, by rank."""
        counts = {int(count) for (count,) in self._group.gather([len(values)], "a gather of numbers")}
        if len(counts) > 1:
            raise DistributedError(
                f"gather: the workers pass different numbers of values: {sorted(counts)}, but all must pass the "
                "same number; pad the shorter ones"
            )
        return self._group.gather(values, "a gather of numbers")

    def barrier(self) -> None:
        """Wait until all other workers have called this too."""
        self._group.barrier("a barrier")

    def shared_variable(self, buffer: Tensor) -> LaneVariable:
        """Return a variable in the first rank's memory. Other ranks read and change it without that rank's help."""
        values = MpiValues(self._duplicate(self._group.communicator), buffer)
        variable = LaneVariable(values, Lane(f"variable {len(self._variables)}", self.interruption))
        self._variables.append(variable)
        if self.rank == 0:
            variable.write(buffer)
        self.barrier()
        return variable

    def close(self) -> None:
        """End the lanes and free the duplicates."""
        for variable in self._variables:
            variable.close()
        for lane in self._lanes:
            lane.close()
        self._group.close()

    def _duplicate(self, communicator: Any) -> MpiGroup:
        return MpiGroup(communicator, self.traffic, self.interruption)

    def _new_lane(self, number: int, communicator: Any, node: Any) -> _MpiLane:
        group = self._duplicate(communicator)
        if node is None:
            return _MpiLane(group, SumByRank(group), Lane(f"lane {number}", self.interruption))
        first = group.mpi.UNDEFINED if node.rank else 0
        leaders = communicator.Split(first, self.rank)
        by_node = SumByNode(group, self._duplicate(node), None if node.rank else self._duplicate(leaders))
        return _MpiLane(group, by_node, Lane(f"lane {number}", self.interruption))

    def _add_mean(self, buffer: Tensor, weight: float, root: int | None, lane: int) -> Operation:
        if buffer.dtype not in _SUMMED:
            raise DistributedError(f"{buffer.dtype} values can't be averaged; use float32, float64 or int64")
        what = "mean" if root is None else f"reduce to {root}"
        doing = f"{what} of {buffer.numel()} {buffer.dtype}"

        def work(mpi_lane: _MpiLane, staged: StagedBuffer) -> None:
            scales = scales_of(mpi_lane.agree(doing, weight), doing)
            mpi_lane.sum.add_up(staged.array(), scales, root, doing)

        return self._add_operation(lane, buffer, work, changes=root in (None, self.rank))

    def _add_operation(
        self, number: int, buffer: Tensor, work: Callable[[_MpiLane, StagedBuffer], None], *, changes: bool = True
    ) -> Operation:
        check_lane(number)
        staged, mpi_lane = StagedBuffer(buffer), self._lanes[number]

        def run() -> None:
            start, waited = time.monotonic(), mpi_lane.waited
            work(mpi_lane, staged)
            if changes:
                staged.put_back()
            self.traffic.add(moved=time.monotonic() - start - (mpi_lane.waited - waited))

        return mpi_lane.lane.add(run)


class _MpiLane:
    """A lane: its thread, its duplicate of the communicator, and its way to add up."""

    def __init__(self, group: MpiGroup, total: Sum, lane: Lane) -> None:
        self.group, self.sum, self.lane = group, total, lane
        self.waited = 0.0  # seconds spent waiting for other ranks

    def agree(self, doing: str, weight: float = 1.0) -> list[float]:
        """Wait until all ranks request the same operation, and return the weight of each rank."""
        start = time.monotonic()
        rows = self.group.gather([weight, zlib.crc32(doing.encode())], doing)
        self.waited += time.monotonic() - start
        for rank, (_, request) in enumerate(rows):
            if request != rows[0][1]:
                raise DistributedError(
                    f"{doing}: worker {rank} and worker 0 request different operations, but all workers must "
                    "have the same net and request the same operations in the same order; start them with the "
                    "same program"
                )
        return [weight for weight, _ in rows]

    def close(self) -> None:
        """End the thread and free the duplicates."""
        self.lane.close()
        self.sum.close()


class Sum(Protocol):
    """A way to add up the values of all ranks."""

    def add_up(self, values: Array, scales: list[float], root: int | None, doing: str) -> None:
        """Replace the values with the scaled sum of all ranks' values. With a root, replace only the root's values."""
        ...

    def close(self) -> None:
        """Free the duplicates of communicators."""
        ...


class SumByRank:
    """Adds up values in the order of ranks."""

    def __init__(self, group: MpiGroup) -> None:
        self._group, self._sum = group, OrderedSum(group)

    def add_up(self, values: Array, scales: list[float], root: int | None, doing: str) -> None:
        """Replace the values with the scaled sum of all ranks' values. With a root, replace only the root's values."""
        run_steps(self._sum.add_up(values, lambda: scales, root, doing))
        self._group.traffic.add(count=bytes_of_mean(self._group.size, values.nbytes))

    def close(self) -> None:
        """Free the duplicate."""
        self._group.close()


class SumByNode:
    """Adds up values within each machine, then between machines, so that each machine sends only one buffer.

    `leaders` are the first ranks of all machines, or `None` if this rank isn't one of them.
    """

    def __init__(self, group: MpiGroup, node: MpiGroup, leaders: MpiGroup | None) -> None:
        self._group, self._node, self._leaders = group, node, leaders
        self._members = [int(rank) for (rank,) in node.gather([group.rank], "finding the ranks of this machine")]
        self._within = SumByRank(node)
        self._among = None if leaders is None else (SumByRank(leaders), [1.0] * leaders.size)

    def add_up(self, values: Array, scales: list[float], root: int | None, doing: str) -> None:
        """Replace the values with the scaled sum of all ranks' values. With a root, replace only the root's values."""
        whole = values.dtype.kind == "i"  # whole numbers are rounded only once
        total = values if root is None and not whole else values.astype(np.float64 if whole else values.dtype)
        self._within.add_up(total, [scales[rank] for rank in self._members], 0, doing)
        if self._among is not None:
            machines, ones = self._among
            machines.add_up(total, ones, None, doing)
        self._node.broadcast(total.view(np.uint8), 0, doing)
        if root in (None, self._group.rank) and total is not values:
            values[:] = np.rint(total) if whole else total

    def close(self) -> None:
        """Free all duplicates."""
        for group in filter(None, (self._group, self._node, self._leaders)):
            group.close()


class MpiValues:
    """An MPI window into the first rank's memory. Its operations on single values are atomic."""

    def __init__(self, group: MpiGroup, like: Tensor) -> None:
        self._group, self._left = group, threading.Event()
        size = like.nbytes if group.rank == 0 else 0
        self._window = group.mpi.Win.Allocate(size, like.itemsize, comm=group.communicator)
        self._window.Lock_all()
        self._helper = threading.Thread(target=self._keep_moving, name="shared variable", daemon=True)
        if not group.is_on_one_machine() and group.rank == 0:
            self._helper.start()

    def read(self, values: Tensor) -> None:
        """Fill a tensor with the variable's values."""
        array = values.numpy()
        nothing, start = np.empty(0, array.dtype), 0
        with mpi_errors(_DOING):
            for piece in pieces(array):
                self._window.Get_accumulate(nothing, piece, 0, [start, piece.size], self._group.mpi.NO_OP)
                start += piece.size
            self._window.Flush(0)

    def write(self, values: Tensor) -> None:
        """Set the variable to a tensor's values."""
        self._accumulate(values, self._group.mpi.REPLACE)

    def add(self, values: Tensor) -> None:
        """Add a tensor's values to the variable's."""
        self._accumulate(values, self._group.mpi.SUM)

    def leave(self) -> None:
        """Wait until no rank needs the variable any more, and free it."""
        self._group.barrier(_DOING)
        self._left.set()
        if self._helper.is_alive():
            self._helper.join()
        with mpi_errors(_DOING):
            self._window.Unlock_all()
            self._window.Free()
        self._group.close()

    def _accumulate(self, values: Tensor, operation: object) -> None:
        start = 0
        with mpi_errors(_DOING):
            for piece in pieces(values.numpy()):
                self._window.Accumulate(piece, 0, [start, piece.size], operation)
                start += piece.size
            self._window.Flush(0)

    def _keep_moving(self) -> None:
        """Let MPI make progress in the first rank. On some networks, other ranks' operations would otherwise stall."""
        while not self._left.wait(_NAP):
            self._group.communicator.Iprobe()
