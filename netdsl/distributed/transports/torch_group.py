"""A communicator over torch.distributed, which uses gloo between CPUs and NCCL between GPUs."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from enum import Enum, IntEnum
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist
from torch._C._distributed_c10d import PrefixStore, ProcessGroupGloo, Store

from netdsl.distributed.communicator import Exchange, Traffic
from netdsl.distributed.interruption import Interruption
from netdsl.distributed.transports.lanes import LANES, Lane, LaneVariable, Operation, StagedBuffer, check_lane
from netdsl.distributed.transports.weighted_mean import (
    Array,
    OrderedSum,
    Stage,
    bytes_of_mean,
    check_weights,
    scales_of,
)
from netdsl.errors import PeerLostError

_SOURCE_LINE = re.compile(r"^\[\S+:\d+\] ?")  # the place in gloo's source code, with which its errors begin
_LEAVE = 5.0  # seconds for the other workers to leave
Gathering = Callable[[Exchange], list[Tensor]]  # waits for all workers' numbers, and returns them by rank
_IDLE = timedelta(days=365)  # a worker's next request has no deadline, and its connection's end shows that it is gone
TIMEOUT = 86400.0  # seconds; the supervisor detects hung workers, and connections detect lost ones
_NUMBERS = len(Stage) + 1  # the tag of numbers, which is of none of the stages


class Library(Enum):
    """The library that moves the buffers."""

    GLOO = "gloo"
    NCCL = "nccl"


class TorchGroup:
    """One of `size` workers that meet at a store.

    Over gloo, means are added up in the order of ranks, with the same bits as in the other transports, and buffers on
    GPUs are copied through pinned memory. NCCL adds up in its own order, which is the same for all workers, and needs a
    GPU for each worker. gloo listens at the address `ip` of this machine. By default it uses the interface in
    GLOO_SOCKET_IFNAME, or else the address of the machine's name, which other machines often can't reach.
    """

    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        *,
        library: Library = Library.GLOO,
        device: torch.device | str = "cpu",
        interruption: Interruption | None = None,
        timeout: float = TIMEOUT,
        ip: str | None = None,
    ) -> None:
        self._ip = ip
        self.rank, self.size, self.traffic = rank, size, Traffic()
        self._library, self._device = library, torch.device(device)
        self._store, self._timeout = store, timedelta(seconds=timeout)
        self._interruption = interruption or Interruption()
        self._variables: list[LaneVariable] = []
        self._control_lane = Lane("control", self._interruption)
        self._lanes = [Lane(f"lane {number}", self._interruption) for number in range(LANES)]
        self._groups: list[Any] = []
        self._sums: dict[Any, OrderedSum] = {}  # by group
        self._control_lane.do(self._open_groups)

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Operation:
        """Replace every worker's buffer with the weighted mean of all buffers."""
        average = self._average_by_nccl if self._library is Library.NCCL else self._average_in_order
        return self._add_operation(lane, f"mean of {buffer.numel()} values", buffer, partial(average, weight, None))

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Operation:
        """Replace the root's buffer with the weighted mean."""
        average = self._average_by_nccl if self._library is Library.NCCL else self._average_in_order
        return self._add_operation(
            lane,
            f"reduce of {buffer.numel()} values",
            buffer,
            partial(average, weight, root),
            changes=self.rank == root,
        )

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Operation:
        """Replace every worker's buffer with the root's."""

        def work(group: Any, values: Tensor, exchange: Exchange) -> Iterator[None]:
            on_gpu = self._library is Library.NCCL
            gathered = self._begin_gather(group, [0.0], self._device if on_gpu else torch.device("cpu"))
            yield
            gathered(exchange)
            group.broadcast(values, root).wait()
            exchange.bytes += values.nbytes

        return self._add_operation(lane, f"broadcast of {buffer.numel()} values", buffer, work)

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Operation:
        """Send a buffer to another worker."""

        def work(group: Any, values: Tensor, exchange: Exchange) -> Iterator[None]:
            begun = group.send([values], to, 0)
            yield
            begun.wait()
            exchange.bytes += values.nbytes

        return self._add_operation(lane, f"send to worker {to}", buffer, work, changes=False)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Operation:
        """Fill a buffer with the values that another worker sends."""

        def work(group: Any, values: Tensor, exchange: Exchange) -> Iterator[None]:
            begun = group.recv([values], source, 0)
            yield
            begun.wait()
            exchange.bytes += values.nbytes

        return self._add_operation(lane, f"receive from worker {source}", buffer, work)

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Return the numbers of all workers, by rank."""
        rows: list[list[float]] = []

        def work() -> None:
            with peer_errors("a gather of numbers"), self.traffic.exchange() as exchange:
                gathered = self._begin_gather(self._control, [*values, 0.0], torch.device("cpu"))(exchange)
                exchange.bytes += 8 * len(values) * self.size
            rows.extend(row[:-1].tolist() for row in gathered)

        self._control_lane.do(work)
        return rows

    def barrier(self) -> None:
        """Wait until all other workers have called this too."""
        self.gather([])

    def shared_variable(self, buffer: Tensor) -> LaneVariable:
        """Return a variable in the first worker's memory. That worker serves the others."""
        number = len(self._variables) + 1
        values = TorchValues(self._control, self.rank, self.size, number, buffer, self.traffic)
        variable = LaneVariable(values, Lane(f"variable {number}", self._interruption))
        self._variables.append(variable)
        self.barrier()
        return variable

    def close(self) -> None:
        """End the lanes and close all connections."""
        for variable in self._variables:
            variable.close()
        for lane in (*self._lanes, self._control_lane):
            lane.close()
        self._groups.clear()
        self._sums.clear()
        del self._control

    def _open_groups(self) -> None:
        with peer_errors("meeting the other workers"):
            self._control: Any = self._new_gloo_group("control")
            self._groups = [self._new_group(f"lane {number}") for number in range(LANES)]

    def _add_operation(
        self,
        number: int,
        doing: str,
        buffer: Tensor,
        work: Callable[[Any, Tensor, Exchange], Iterator[None]],
        *,
        changes: bool = True,
    ) -> Operation:
        check_lane(number)
        on_gpu = self._library is Library.NCCL
        ready = torch.cuda.current_stream(self._device).record_event() if on_gpu else None
        staged = None if on_gpu else StagedBuffer(buffer)

        def steps() -> Iterator[None]:
            if buffer.is_cuda:  # the lane waits until its values are computed
                yield
            with (
                peer_errors(f"{doing}, lane {number}"),
                self.traffic.exchange() as exchange,
                self._stream_after(ready),
            ):
                yield from work(self._groups[number], buffer.detach() if staged is None else staged.fetch(), exchange)
                if staged is not None and changes:
                    staged.put_back()

        return self._lanes[number].begin(steps())

    @contextmanager
    def _stream_after(self, ready: torch.cuda.Event | None) -> Iterator[None]:
        """Use a new stream on a GPU that starts when the buffer is ready, and wait for the stream's work at the end."""
        if ready is None:
            yield
            return
        stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        with torch.cuda.stream(stream):
            stream.wait_event(ready)
            yield
            stream.synchronize()

    def _average_in_order(
        self, weight: float, root: int | None, group: Any, buffer: Tensor, exchange: Exchange
    ) -> Iterator[None]:
        """Compute the mean as in all transports: each worker adds up a share of the values, in the order of ranks.

        The weights travel ahead of the first piece, so that the wait for the other workers is known.
        """
        gathered = self._begin_gather(group, [weight], torch.device("cpu"))
        doing = f"mean of {buffer.numel()} values"
        scales = cache(lambda: scales_of([row.item() for row in gathered(exchange)], doing))
        if group not in self._sums:
            self._sums[group] = OrderedSum(GlooMessages(group))
        yield from self._sums[group].add_up(buffer.view(-1).numpy(), scales, root, doing)
        exchange.bytes += bytes_of_mean(self.size, buffer.nbytes)

    def _average_by_nccl(
        self, weight: float, root: int | None, group: Any, buffer: Tensor, exchange: Exchange
    ) -> Iterator[None]:
        """Compute the mean from a sum over NCCL.

        The weights travel at the same time, since each round trip costs time.
        """
        exact = buffer.is_floating_point()
        total = (buffer if root is None else buffer.clone()) if exact else buffer.double()
        if weight != 1:
            total.mul_(weight)
        gathered = self._begin_gather(group, [weight], self._device)
        yield
        weights = gathered(exchange)
        if root is None:
            group.allreduce([total]).wait()
        else:
            options = dist.ReduceOptions()
            options.rootRank = root
            group.reduce([total], options).wait()
        sum_of_weights = sum(row.item() for row in weights)
        check_weights(sum_of_weights, f"mean of {buffer.numel()} values")
        if root in (None, self.rank):
            total.mul_(1 / sum_of_weights)
            if total is not buffer:
                buffer.copy_(total if exact else total.round_())
        exchange.bytes += bytes_of_mean(self.size, buffer.nbytes)

    def _begin_gather(self, group: Any, values: Sequence[float], device: torch.device) -> Gathering:
        """Begin to gather numbers.

        gloo's own way passes them along a ring, where they would wait for the buffers that follow. Here, each worker
        sends them to each other worker.
        """
        numbers = torch.tensor(values, dtype=torch.float64, device=device)
        rows = [torch.empty_like(numbers) for _ in range(self.size)]
        if device.type == "cpu":
            others = [other for other in range(self.size) if other != self.rank]
            begun = [group.recv([rows[other]], other, _NUMBERS) for other in others]
            begun += [group.send([numbers], other, _NUMBERS) for other in others]
            rows[self.rank] = numbers
        else:
            begun = [group.allgather([rows], [numbers])]

        def gathered(exchange: Exchange) -> list[Tensor]:
            start = time.monotonic()
            for work in begun:
                work.wait()
            exchange.waited += time.monotonic() - start
            return rows

        return gathered

    def _new_group(self, name: str) -> Any:
        if self._library is Library.GLOO:
            return self._new_gloo_group(name)
        options = dist.ProcessGroupNCCL.Options()
        options._timeout = self._timeout
        return dist.ProcessGroupNCCL(PrefixStore(name, self._store), self.rank, self.size, options)

    def _new_gloo_group(self, name: str) -> Any:
        store = PrefixStore(name, self._store)
        if self._ip is None:
            return ProcessGroupGloo(store, self.rank, self.size, self._timeout)
        options = ProcessGroupGloo._Options()  # type: ignore[attr-defined]
        options._timeout = self._timeout
        options._devices = [ProcessGroupGloo.create_device(hostname=self._ip)]
        return ProcessGroupGloo(store, self.rank, self.size, options)


class GlooMessages:
    """Messages over one of gloo's groups."""

    def __init__(self, group: Any) -> None:
        self._group = group
        self.rank, self.size = group.rank(), group.size()

    def begin_send(self, values: Array, to: int, stage: Stage) -> Any:
        """Begin to send values."""
        return self._group.send([torch.from_numpy(values)], to, stage)

    def begin_receive(self, values: Array, source: int, stage: Stage) -> Any:
        """Begin to fill an array with the values that another worker sends."""
        return self._group.recv([torch.from_numpy(values)], source, stage)

    def finish(self, begun: Sequence[Any], doing: str) -> None:
        """Wait until all of these transfers are complete."""
        for work in begun:
            work.wait()


class SharedVariableRequest(IntEnum):
    """A worker's request to the first worker."""

    READ = 0
    WRITE = 1
    ADD = 2
    LEAVE = 3  # the worker no longer needs the variable


@contextmanager
def peer_errors(doing: str) -> Iterator[None]:
    """Convert torch's errors during an exchange into a `PeerLostError`."""
    try:
        yield
    except RuntimeError as problem:
        reason = _SOURCE_LINE.sub("", (str(problem).splitlines() or [type(problem).__name__])[0])
        raise PeerLostError(f"{doing}: {reason}") from None


class TorchValues:
    """The values as one worker sees them. The first worker has a thread for each other worker."""

    def __init__(self, group: Any, rank: int, size: int, number: int, buffer: Tensor, traffic: Traffic) -> None:
        self._group, self._rank, self._tag, self._traffic = group, rank, number, traffic
        self._values = buffer.detach().view(-1).cpu().clone()
        self._using = threading.Lock()
        self._servers = [
            threading.Thread(target=self._serve_worker, args=(other,), name=f"variable for {other}", daemon=True)
            for other in range(1, size if rank == 0 else 0)
        ]
        for server in self._servers:
            server.start()

    def read(self, values: Tensor) -> None:
        """Fill a tensor with the variable's values."""
        self._ask_first_worker(SharedVariableRequest.READ, values)

    def write(self, values: Tensor) -> None:
        """Set the variable to a tensor's values."""
        self._ask_first_worker(SharedVariableRequest.WRITE, values)

    def add(self, values: Tensor) -> None:
        """Add a tensor's values to the variable's."""
        self._ask_first_worker(SharedVariableRequest.ADD, values)

    def leave(self) -> None:
        """Leave the variable. The first worker waits until the others have left."""
        if self._rank:
            with peer_errors("leaving the shared variable"):
                self._send_values(_request_tensor(SharedVariableRequest.LEAVE), 0)
        for server in self._servers:
            server.join(_LEAVE)

    def _ask_first_worker(self, request: SharedVariableRequest, values: Tensor) -> None:
        """Send a request to the first worker, which returns the values or confirms that it received them."""
        if self._rank == 0:
            self._do_request(request, values)
            return
        head = _request_tensor(request)
        with peer_errors(f"{request.name.lower()} of the shared variable"), self._traffic.exchange() as exchange:
            self._send_values(head, 0)
            if request is not SharedVariableRequest.READ:
                self._send_values(values, 0)
            self._group.recv([values if request is SharedVariableRequest.READ else head], 0, self._tag).wait()
            exchange.bytes += values.nbytes

    def _do_request(self, request: SharedVariableRequest, values: Tensor) -> None:
        """Apply a request with a worker's values."""
        with self._using:
            if request is SharedVariableRequest.READ:
                values.copy_(self._values)
            elif request is SharedVariableRequest.WRITE:
                self._values.copy_(values)
            else:
                self._values.add_(values)

    def _serve_worker(self, other: int) -> None:
        """Serve a worker's requests until the worker is gone."""
        head, values = _request_tensor(SharedVariableRequest.READ), torch.empty_like(self._values)
        with suppress(RuntimeError):
            while True:
                self._receive_values(head, other)
                request = SharedVariableRequest(int(head))
                if request is SharedVariableRequest.LEAVE:
                    return
                if request is not SharedVariableRequest.READ:
                    self._receive_values(values, other)
                self._do_request(request, values)
                self._send_values(values if request is SharedVariableRequest.READ else head, other)

    def _send_values(self, values: Tensor, to: int) -> None:
        self._group.send([values], to, self._tag).wait()

    def _receive_values(self, values: Tensor, source: int) -> None:
        """Receive values that a worker sends at any time."""
        self._group.recv([values], source, self._tag).wait(_IDLE)


def _request_tensor(request: SharedVariableRequest) -> Tensor:
    """Encode a request as a tensor."""
    return torch.tensor([request], dtype=torch.int64)
