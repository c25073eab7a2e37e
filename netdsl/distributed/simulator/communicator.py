"""Exchanges between simulated workers: computed at once, and complete when a network would have done them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from netdsl.distributed.communicator import Traffic
from netdsl.distributed.simulator.link import ExchangeKind, Link
from netdsl.distributed.simulator.world import PendingEvent, World
from netdsl.distributed.transports.weighted_mean import add_up, scales_of

Combine = Callable[[list[Any], list[float]], object]  # does an exchange with all workers' values and their weights

_CONTROL = "control"  # the lane of barriers and gathered numbers


@dataclass
class ServedVariable:
    """A shared variable on a server, which serves one worker at a time."""

    values: Tensor
    busy_until: float = 0.0


@dataclass
class SimulatedExchange(PendingEvent):
    """An exchange of several workers."""

    start: float = 0.0  # when the last worker had joined
    posted: dict[int, tuple[float, Any, float]] = field(default_factory=dict)  # time, value and weight, by rank
    result: Any = None


class Network:
    """The network of a simulated world. The exchanges of one lane follow one after the other."""

    def __init__(self, world: World, link: Link) -> None:
        self.world, self.link = world, link
        self.variables: dict[int, ServedVariable] = {}
        self._pending: dict[Hashable, SimulatedExchange] = {}
        self._busy_until: dict[Hashable, float] = {}  # by lane

    def join(
        self,
        rank: int,
        kind: ExchangeKind,
        lane: Hashable,
        number: int,
        value: Any,
        weight: float,
        combine: Combine,
        count: int,
    ) -> SimulatedExchange:
        """Join an exchange of `count` workers. It is computed when the last of them joins."""
        exchange = self._pending.setdefault((lane, number), SimulatedExchange(kind.value))
        exchange.posted[rank] = (self.world.now[rank], value, weight)
        if len(exchange.posted) == count:
            del self._pending[lane, number]
            self._compute(exchange, kind, lane, combine)
        return exchange

    def _compute(self, exchange: SimulatedExchange, kind: ExchangeKind, lane: Hashable, combine: Combine) -> None:
        posted = [exchange.posted[rank] for rank in sorted(exchange.posted)]
        size = max(value.nbytes if isinstance(value, Tensor) else 0 for _, value, _ in posted)
        exchange.result = combine([value for _, value, _ in posted], [weight for _, _, weight in posted])
        exchange.start = max(self._busy_until.get(lane, 0.0), *(time for time, _, _ in posted))
        self._busy_until[lane] = exchange.start + self.link.seconds(kind, len(posted), size)
        self.world.schedule(exchange, self._busy_until[lane])


@dataclass(frozen=True)
class SimulatedHandle:
    """A worker's handle of an exchange."""

    owner: SimulatedCommunicator
    exchange: SimulatedExchange

    def done(self) -> bool:
        """Whether the exchange is complete by the worker's clock."""
        finish = self.exchange.finish
        return finish is not None and finish <= self.owner.now

    def wait(self) -> None:
        """Wait until the exchange is complete."""
        self.owner.wait(self.exchange)


class SimulatedCommunicator:
    """The communicator of one simulated worker."""

    def __init__(self, network: Network, rank: int) -> None:
        self.network, self.rank, self.size = network, rank, network.world.size
        self.traffic = Traffic()
        self._exchanges: Counter[Hashable] = Counter()  # by lane
        self._variables = 0

    @property
    def now(self) -> float:
        """The time by the worker's clock."""
        return self.network.world.now[self.rank]

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> SimulatedHandle:
        """Replace every worker's buffer by their mean."""

        def combine(buffers: list[Tensor], weights: list[float]) -> None:
            mean = weighted_mean(buffers, weights)
            for worker_buffer in buffers:
                worker_buffer.copy_(mean)

        return self._all(ExchangeKind.MEAN, lane, buffer, weight, combine)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> SimulatedHandle:
        """Replace the root's buffer by the mean of all workers'."""
        return self._all(
            ExchangeKind.REDUCE,
            lane,
            buffer,
            weight,
            lambda buffers, weights: buffers[root].copy_(weighted_mean(buffers, weights)),
        )

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> SimulatedHandle:
        """Replace every worker's buffer by the root's."""

        def combine(buffers: list[Tensor], weights: list[float]) -> None:
            for worker_buffer in buffers:
                worker_buffer.copy_(buffers[root])

        return self._all(ExchangeKind.BROADCAST, lane, buffer, 1.0, combine)

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> SimulatedHandle:
        """Send a buffer to another worker."""
        return self._two(self.rank, to, lane, buffer)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> SimulatedHandle:
        """Receive a buffer from another worker."""
        return self._two(source, self.rank, lane, buffer)

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """All workers' numbers, by rank."""
        handle = self._all(ExchangeKind.BARRIER, _CONTROL, list(values), 1.0, lambda rows, weights: rows)
        handle.wait()
        rows: list[list[float]] = handle.exchange.result
        return rows

    def barrier(self) -> None:
        """Wait until all workers have come here."""
        self.gather([])

    def shared_variable(self, buffer: Tensor) -> SimulatedVariable:
        """A new shared variable on a server, with the values of the first worker's buffer."""
        number, self._variables = self._variables, self._variables + 1
        if self.rank == 0:
            self.network.variables[number] = ServedVariable(buffer.clone())
        self.barrier()
        return SimulatedVariable(self, self.network.variables[number])

    def close(self) -> None:
        """Do nothing, since nothing is held."""

    def wait(self, exchange: SimulatedExchange) -> None:
        """Wait until an exchange is complete, and record how long that took."""
        before = self.now
        self.network.world.wait(self.rank, exchange)
        start = max(before, exchange.start)
        self.traffic.waited += start - before
        self.traffic.moved += self.now - start

    def _all(self, kind: ExchangeKind, lane: Hashable, value: Any, weight: float, combine: Combine) -> SimulatedHandle:
        return self._join(kind, lane, value, weight, combine, self.size)

    def _two(self, source: int, to: int, lane: int, buffer: Tensor) -> SimulatedHandle:
        ranks = sorted((source, to))

        def combine(buffers: list[Tensor], weights: list[float]) -> None:
            buffers[ranks.index(to)].copy_(buffers[ranks.index(source)])

        return self._join(ExchangeKind.SEND, (lane, source, to), buffer, 1.0, combine, 2)

    def _join(
        self, kind: ExchangeKind, lane: Hashable, value: Any, weight: float, combine: Combine, count: int
    ) -> SimulatedHandle:
        self._exchanges[lane] += 1
        if isinstance(value, Tensor) and self.size > 1:
            self.traffic.bytes += value.nbytes
        exchange = self.network.join(self.rank, kind, lane, self._exchanges[lane], value, weight, combine, count)
        return SimulatedHandle(self, exchange)


@dataclass(frozen=True)
class SimulatedVariable:
    """A shared variable as one worker sees it."""

    owner: SimulatedCommunicator
    server: ServedVariable

    def exchange(self, buffer: Tensor, alpha: float) -> None:
        """Move the buffer and the variable towards each other by `alpha` of their difference."""
        values = self._transfer(2)
        difference = (buffer - values).mul_(alpha)
        buffer.sub_(difference)
        values.add_(difference)

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with the variable, in no time: tests read it, and they aren't simulated."""
        buffer.copy_(self.server.values)

    def write(self, buffer: Tensor) -> None:
        """Set the variable to the values of a buffer."""
        self._transfer(1).copy_(buffer)

    def _transfer(self, times: int) -> Tensor:
        """Wait for this worker's turn, and until the variable's bytes have gone so many times over the network.

        While the server answers one worker, it already receives from the next.
        """
        owner, server = self.owner, self.server
        size = server.values.nbytes
        start, once = max(owner.now, server.busy_until), owner.network.link.seconds(ExchangeKind.SEND, 2, size)
        server.busy_until = start + once
        owner.traffic.bytes += times * size
        owner.wait(SimulatedExchange("shared variable", start + times * once, start))
        return server.values


def weighted_mean(buffers: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """The mean of buffers, added up in the order of ranks, with the same bits as the real transports'."""
    mean = torch.empty_like(buffers[0])
    arrays = [buffer.detach().view(-1).numpy() for buffer in buffers]
    add_up(arrays, scales_of(list(weights), "mean"), mean.view(-1).numpy())
    return mean


class SimulatedClock:
    """The clock of a simulated worker, on which an iteration takes the time that the world's pace says."""

    def __init__(self, world: World, rank: int) -> None:
        self._world, self._rank = world, rank

    def now(self) -> float:
        """The time by the worker's clock."""
        return self._world.now[self._rank]

    def finish_iteration(self, iteration: int) -> None:
        """Let the time of an iteration pass."""
        self._world.spend(self._rank, self._world.pace(self._rank, iteration))
