"""A communicator over torch.distributed: gloo between processors, NCCL between GPUs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist
from torch._C._distributed_c10d import PrefixStore, ProcessGroupGloo, Store, TCPStore

from netdsl.distributed.traffic import Traffic
from netdsl.distributed.transports.lane import Lane, Operation, check
from netdsl.distributed.transports.torch_shared_variable import TorchVariable, lost
from netdsl.errors import DistributedError

LANES = 4
TIMEOUT = 60.0  # seconds that others may keep a worker waiting


def store_at(host: str, port: int, rank: int, size: int, timeout: float = TIMEOUT) -> Store:
    """Where workers find each other: the first one serves at this address."""
    with lost("meeting the others"):
        return TCPStore(host, port, size, rank == 0, timedelta(seconds=timeout))


class TorchGroup:
    """One of `size` workers that meet at a store. Whoever keeps another waiting for longer than the timeout is lost.

    Sums are in torch's order, the same for all workers.
    """

    def __init__(
        self, store: Store, rank: int, size: int, device: torch.device | str = "cpu", timeout: float = TIMEOUT
    ) -> None:
        self.rank, self.size, self.device, self.traffic = rank, size, torch.device(device), Traffic()
        self._store, self._timeout = store, timedelta(seconds=timeout)
        self._counting = threading.Lock()
        self._centres = 0
        with lost("meeting the others"):
            self._control = self._gloo("control")
            self._groups = [self._group(f"lane {number}") for number in range(LANES)]
        self._lanes = [Lane(number) for number in range(LANES)]

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> Operation:
        """Everybody's weighted mean."""

        def work(group: Any) -> int:
            total = buffer if buffer.is_floating_point() else buffer.double()
            total.mul_(self._summed(group, weight, total, group.allreduce))
            if total is not buffer:
                buffer.copy_(total.round_())
            return 4 * (self.size - 1) * buffer.nbytes // self.size

        return self._add(lane, f"mean of {buffer.numel()} values", work)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> Operation:
        """The same for one worker only. The others' buffers would not stay as they are, so copies are summed."""

        def work(group: Any) -> int:
            total = buffer.clone() if buffer.is_floating_point() else buffer.double()
            options = dist.ReduceOptions()
            options.rootRank = root
            scale = self._summed(group, weight, total, partial(group.reduce, opts=options))
            if self.rank == root:
                total.mul_(scale)
                buffer.copy_(total if buffer.is_floating_point() else total.round_())
            return 2 * (self.size - 1) * buffer.nbytes // self.size

        return self._add(lane, f"reduce of {buffer.numel()} values", work)

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> Operation:
        """Everybody's buffer becomes the root's."""

        def work(group: Any) -> int:
            group.broadcast(buffer, root).wait()
            return buffer.nbytes

        return self._add(lane, f"broadcast of {buffer.numel()} values", work)

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> Operation:
        """A buffer for another worker."""

        def work(group: Any) -> int:
            group.send([buffer], to, 0).wait()
            return buffer.nbytes

        return self._add(lane, f"send to {to}", work)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> Operation:
        """What another worker sends."""

        def work(group: Any) -> int:
            group.recv([buffer], source, 0).wait()
            return buffer.nbytes

        return self._add(lane, f"receive from {source}", work)

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """A few numbers of everybody."""
        start = time.monotonic()
        with lost("gather"):
            gathering, rows = self._gathering(self._control, [*values, 0.0], torch.device("cpu"))
            gathering.wait()
        self._count(Traffic(time.monotonic() - start, 0.0, 8 * len(values) * self.size))
        return [row[:-1].tolist() for row in rows]

    def barrier(self) -> None:
        """Wait for all others."""
        self.gather([])

    def centre(self, buffer: Tensor) -> TorchVariable:
        """A variable on the first worker, which serves the others."""
        self._centres += 1
        centre = TorchVariable(self._control, self.rank, self.size, self._centres, buffer, self._count)
        self.barrier()
        return centre

    def alive(self) -> None:
        """Torch knows whether others are there by their connections and its timeout."""

    def close(self) -> None:
        """End the lanes and let go of all connections."""
        for lane in self._lanes:
            lane.close()
        self._groups.clear()
        del self._control

    def _add(self, number: int, doing: str, work: Callable[[Any], int]) -> Operation:
        check(number, LANES)
        ready = torch.cuda.current_stream(self.device).record_event() if self.device.type == "cuda" else None

        def run() -> None:
            start = time.monotonic()
            with lost(f"{doing}, lane {number}"), self._stream(ready):
                moved = work(self._groups[number])
            self._count(Traffic(moved=time.monotonic() - start, bytes=moved))

        return self._lanes[number].add(run)

    @contextmanager
    def _stream(self, ready: torch.cuda.Event | None) -> Iterator[None]:
        """On a GPU, a stream that begins when the buffer is ready, and is through at the end."""
        if ready is None:
            yield
            return
        stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        with torch.cuda.stream(stream):
            stream.wait_event(ready)
            yield
            stream.synchronize()

    def _summed(self, group: Any, weight: float, total: Tensor, add: Callable[[list[Tensor]], Any]) -> float:
        """Add up what all have, each as often as it counts, and give what makes a mean of the sum.

        The weights go along at the same time, since for small buffers each round trip counts.
        """
        if weight != 1:
            total.mul_(weight)
        gathering, weights = self._gathering(group, [weight], self.device)
        adding = add([total])
        start = time.monotonic()
        gathering.wait()
        waited = time.monotonic() - start  # whoever comes first waits here for the others
        adding.wait()
        self._count(Traffic(waited, -waited))
        everybody: float = torch.stack(weights).sum().item()
        if not everybody > 0:
            raise DistributedError(f"all weights together are {everybody:g}, which gives no mean")
        return 1 / everybody

    def _gathering(self, group: Any, values: Sequence[float], device: torch.device) -> tuple[Any, list[Tensor]]:
        """Under way: everybody's numbers, by rank."""
        own = torch.tensor(values, dtype=torch.float64, device=device)
        rows = [torch.empty_like(own) for _ in range(self.size)]
        return group.allgather([rows], [own]), rows

    def _group(self, name: str) -> Any:
        if self.device.type == "cpu":
            return self._gloo(name)
        options = dist.ProcessGroupNCCL.Options()
        options._timeout = self._timeout
        return dist.ProcessGroupNCCL(PrefixStore(name, self._store), self.rank, self.size, options)

    def _gloo(self, name: str) -> Any:
        return ProcessGroupGloo(PrefixStore(name, self._store), self.rank, self.size, self._timeout)

    def _count(self, cost: Traffic) -> None:
        with self._counting:
            self.traffic.waited += cost.waited
            self.traffic.moved += cost.moved
            self.traffic.bytes += cost.bytes
