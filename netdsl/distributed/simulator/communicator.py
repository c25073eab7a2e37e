"""Exchanges between workers of a simulated world: done at once, and over when a network would be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from netdsl.distributed.communicator import Traffic
from netdsl.distributed.simulator.link import ExchangeKind, Link
from netdsl.distributed.simulator.world import Awaited, World
from netdsl.distributed.transports.weighted_mean import add_up, scales_of

Taking = Callable[[list[Any], list[float]], object]  # does what is to be done with everybody's, by rank, and weights

_CONTROL = "control"  # the lane of barriers and gathered numbers


@dataclass
class ServedVariable:
    """A shared variable on a server of its own, which serves one worker at a time."""

    values: Tensor
    busy: float = 0.0  # until when


@dataclass
class Exchange(Awaited):
    """What several workers ask for together."""

    start: float = 0.0  # when all had come
    posted: dict[int, tuple[float, Any, float]] = field(default_factory=dict)  # when, what and of what weight
    result: Any = None


class Network:
    """Where workers meet. What is exchanged in one lane happens one after the other."""

    def __init__(self, world: World, link: Link) -> None:
        self.world, self.link = world, link
        self.variables: dict[int, ServedVariable] = {}
        self._pending: dict[Hashable, Exchange] = {}
        self._busy: dict[Hashable, float] = {}  # until when lanes are

    def ask(
        self,
        rank: int,
        kind: ExchangeKind,
        lane: Hashable,
        number: int,
        given: Any,
        weight: float,
        taking: Taking,
        wanted: int,
    ) -> Exchange:
        """Take part in an exchange. It happens when the last of those who are wanted asks."""
        exchange = self._pending.setdefault((lane, number), Exchange(kind.value))
        exchange.posted[rank] = (self.world.now[rank], given, weight)
        if len(exchange.posted) == wanted:
            del self._pending[lane, number]
            self._happen(exchange, kind, lane, taking)
        return exchange

    def _happen(self, exchange: Exchange, kind: ExchangeKind, lane: Hashable, taking: Taking) -> None:
        posted = [exchange.posted[rank] for rank in sorted(exchange.posted)]
        size = max(given.nbytes if isinstance(given, Tensor) else 0 for _, given, _ in posted)
        exchange.result = taking([given for _, given, _ in posted], [weight for _, _, weight in posted])
        exchange.start = max(self._busy.get(lane, 0.0), *(when for when, _, _ in posted))
        self._busy[lane] = exchange.start + self.link.seconds(kind, len(posted), size)
        self.world.over(exchange, self._busy[lane])


@dataclass(frozen=True)
class SimulatedHandle:
    """An exchange of a worker."""

    owner: SimulatedCommunicator
    exchange: Exchange

    def done(self) -> bool:
        """Whether it is over by the worker's clock."""
        finish = self.exchange.finish
        return finish is not None and finish <= self.owner.now

    def wait(self) -> None:
        """Go on when it is."""
        self.owner.wait(self.exchange)


class SimulatedCommunicator:
    """One of the workers of a simulated world."""

    def __init__(self, network: Network, rank: int) -> None:
        self.network, self.rank, self.size = network, rank, network.world.size
        self.traffic = Traffic()
        self._asked: Counter[Hashable] = Counter()
        self._variables = 0

    @property
    def now(self) -> float:
        """The worker's time."""
        return self.network.world.now[self.rank]

    def mean(self, buffer: Tensor, weight: float = 1.0, *, lane: int = 0) -> SimulatedHandle:
        """Everybody's buffer becomes the mean."""

        def take(buffers: list[Tensor], weights: list[float]) -> None:
            mean = weighted_mean(buffers, weights)
            for each in buffers:
                each.copy_(mean)

        return self._all(ExchangeKind.MEAN, lane, buffer, weight, take)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> SimulatedHandle:
        """The root's buffer becomes the mean."""
        return self._all(
            ExchangeKind.REDUCE,
            lane,
            buffer,
            weight,
            lambda all_, weights: all_[root].copy_(weighted_mean(all_, weights)),
        )

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> SimulatedHandle:
        """Everybody's buffer becomes the root's."""
        return self._all(
            ExchangeKind.BROADCAST, lane, buffer, 1.0, lambda all_, _: [each.copy_(all_[root]) for each in all_]
        )

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> SimulatedHandle:
        """The other's buffer becomes the own."""
        return self._two(self.rank, to, lane, buffer)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> SimulatedHandle:
        """The own buffer becomes the other's."""
        return self._two(source, self.rank, lane, buffer)

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Everybody's numbers."""
        handle = self._all(ExchangeKind.BARRIER, _CONTROL, list(values), 1.0, lambda all_, _: all_)
        handle.wait()
        found: list[list[float]] = handle.exchange.result
        return found

    def barrier(self) -> None:
        """Everybody waits for everybody."""
        self.gather([])

    def shared_variable(self, buffer: Tensor) -> SimulatedVariable:
        """A variable on a server, which begins as the first worker's buffer."""
        number, self._variables = self._variables, self._variables + 1
        if self.rank == 0:
            self.network.variables[number] = ServedVariable(buffer.clone())
        self.barrier()
        return SimulatedVariable(self, self.network.variables[number])

    def close(self) -> None:
        """Nothing is held."""

    def wait(self, exchange: Exchange) -> None:
        """Go on when it is over, and note how long that took."""
        before = self.now
        self.network.world.wait(self.rank, exchange)
        start = max(before, exchange.start)
        self.traffic.waited += start - before
        self.traffic.moved += self.now - start

    def _all(self, kind: ExchangeKind, lane: Hashable, given: Any, weight: float, taking: Taking) -> SimulatedHandle:
        return self._ask(kind, lane, given, weight, taking, self.size)

    def _two(self, source: int, to: int, lane: int, buffer: Tensor) -> SimulatedHandle:
        mine = [source, to] if source < to else [to, source]

        def take(buffers: list[Tensor], weights: list[float]) -> None:
            buffers[mine.index(to)].copy_(buffers[mine.index(source)])

        return self._ask(ExchangeKind.SEND, (lane, source, to), buffer, 1.0, take, 2)

    def _ask(
        self, kind: ExchangeKind, lane: Hashable, given: Any, weight: float, taking: Taking, wanted: int
    ) -> SimulatedHandle:
        self._asked[lane] += 1
        if isinstance(given, Tensor) and self.size > 1:
            self.traffic.bytes += given.nbytes
        exchange = self.network.ask(self.rank, kind, lane, self._asked[lane], given, weight, taking, wanted)
        return SimulatedHandle(self, exchange)


@dataclass(frozen=True)
class SimulatedVariable:
    """A shared variable as one worker sees it."""

    owner: SimulatedCommunicator
    server: ServedVariable

    def exchange(self, buffer: Tensor, alpha: float) -> None:
        """Draw the buffer and the variable together."""
        values = self._served(2)
        difference = (buffer - values).mul_(alpha)
        buffer.sub_(difference)
        values.add_(difference)

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer. That costs nothing, since it is for tests, which aren't part of what is simulated."""
        buffer.copy_(self.server.values)

    def write(self, buffer: Tensor) -> None:
        """Set the variable."""
        self._served(1).copy_(buffer)

    def _served(self, ways: int) -> Tensor:
        """The variable, when it is this worker's turn and its bytes have gone that often over the network.

        While the server answers one worker, it already receives from the next.
        """
        owner, server = self.owner, self.server
        size = server.values.nbytes
        start, once = max(owner.now, server.busy), owner.network.link.seconds(ExchangeKind.SEND, 2, size)
        server.busy = start + once
        owner.traffic.bytes += ways * size
        owner.wait(Exchange("shared variable", start + ways * once, start))
        return server.values


def weighted_mean(buffers: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """The mean, added up in the order of ranks, to the same bits as by the real transports."""
    mean = torch.empty_like(buffers[0])
    arrays = [buffer.detach().view(-1).numpy() for buffer in buffers]
    add_up(arrays, scales_of(list(weights), "mean"), mean.view(-1).numpy())
    return mean


class SimulatedClock:
    """A worker's time, of which every iteration takes what the world's pace says."""

    def __init__(self, world: World, rank: int) -> None:
        self._world, self._rank = world, rank

    def now(self) -> float:
        """The worker's time."""
        return self._world.now[self._rank]

    def computed(self, iteration: int) -> None:
        """An iteration took its time."""
        self._world.spend(self._rank, self._world.pace(self._rank, iteration))
