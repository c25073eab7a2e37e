"""Exchanges between simulated workers. They are computed at once, and complete when a network would have done them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from netdsl.distributed.communicator import Traffic
from netdsl.distributed.machines import ExchangeKind, Link
from netdsl.distributed.transports.weighted_mean import add_up, scales_of
from netdsl.errors import PeerLostError
from netdsl.simulator.world import PendingEvent, World

# Executes an exchange, given the values by rank and their weights.
Combine = Callable[[dict[int, Any], list[float]], object]

_CONTROL = "control"  # the lane of barriers and gathered numbers


@dataclass
class ServedVariable:
    """A shared variable on a server, which sends to one worker at a time, and receives from one at a time."""

    values: Tensor
    sends_until: float = 0.0
    receives_until: float = 0.0
    arriving: deque[tuple[float, Tensor]] = field(default_factory=deque)  # changes, with their arrival times

    def values_at(self, now: float) -> Tensor:
        """Return the values with all changes that have arrived by a time. Workers call this in the order of their
        clocks."""
        while self.arriving and self.arriving[0][0] <= now:
            self.values.add_(self.arriving.popleft()[1])
        return self.values


@dataclass(frozen=True)
class PostedValue:
    """A worker's part of an exchange: the time when it joined, its value and its weight."""

    time: float
    value: Any
    weight: float


@dataclass
class SimulatedExchange(PendingEvent):
    """An exchange of several workers."""

    start: float = 0.0  # the time when the last worker joined
    posted: dict[int, PostedValue] = field(default_factory=dict)  # by rank
    result: Any = None


@dataclass(frozen=True)
class ExchangePlan:
    """An exchange in a lane: its kind, its workers, and the function that executes it."""

    kind: ExchangeKind
    lane: Hashable
    ranks: frozenset[int]
    combine: Combine


class Network:
    """The network of a simulated world. Exchanges in one lane happen one after the other.

    An exchange needs all of its workers that aren't lost.
    """

    def __init__(self, world: World, link: Link) -> None:
        self.world, self.link = world, link
        self.variables: dict[int, ServedVariable] = {}
        self._pending: dict[tuple[Hashable, int], tuple[ExchangePlan, SimulatedExchange]] = {}  # by lane and number
        self._busy_until: dict[Hashable, float] = {}  # by lane
        world.on_loss.append(self._complete_without)

    def join(self, rank: int, plan: ExchangePlan, number: int, value: Any, weight: float) -> SimulatedExchange:
        """Join an exchange, which is computed when the last worker joins."""
        plan, exchange = self._pending.setdefault((plan.lane, number), (plan, SimulatedExchange(plan.kind.value)))
        exchange.posted[rank] = PostedValue(self.world.now[rank], value, weight)
        self._compute_if_complete(number, plan, exchange, self.world.now[rank])
        return exchange

    def _complete_without(self, lost: int) -> None:
        """Compute the exchanges that were only waiting for a worker that has just been lost."""
        for (_, number), (plan, exchange) in list(self._pending.items()):
            self._compute_if_complete(number, plan, exchange, self.world.now[lost])

    def _compute_if_complete(self, number: int, plan: ExchangePlan, exchange: SimulatedExchange, now: float) -> None:
        if not exchange.posted or plan.ranks - self.world.lost - exchange.posted.keys():
            return
        del self._pending[plan.lane, number]
        posted = {rank: exchange.posted[rank] for rank in sorted(exchange.posted)}
        values = {rank: part.value for rank, part in posted.items()}
        size = max(value.nbytes if isinstance(value, Tensor) else 0 for value in values.values())
        exchange.result = plan.combine(values, [part.weight for part in posted.values()])
        exchange.start = max(self._busy_until.get(plan.lane, 0.0), now, *(part.time for part in posted.values()))
        self._busy_until[plan.lane] = exchange.start + self.link.seconds(plan.kind, len(posted), size)
        self.world.schedule(exchange, self._busy_until[plan.lane])


@dataclass(frozen=True)
class SimulatedHandle:
    """A worker's handle of an exchange."""

    owner: SimulatedCommunicator
    exchange: SimulatedExchange

    def done(self) -> bool:
        """Return whether the exchange is complete by the worker's clock."""
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
        """Replace every worker's buffer with the weighted mean of all buffers."""

        def combine(buffers: dict[int, Tensor], weights: list[float]) -> None:
            mean = weighted_mean(list(buffers.values()), weights)
            for worker_buffer in buffers.values():
                worker_buffer.copy_(mean)

        return self._among_all(ExchangeKind.MEAN, lane, buffer, weight, combine)

    def reduce(self, buffer: Tensor, weight: float = 1.0, *, root: int = 0, lane: int = 0) -> SimulatedHandle:
        """Replace the root's buffer with the weighted mean."""

        def combine(buffers: dict[int, Tensor], weights: list[float]) -> None:
            _check_root(root, buffers)
            buffers[root].copy_(weighted_mean(list(buffers.values()), weights))

        return self._among_all(ExchangeKind.REDUCE, lane, buffer, weight, combine)

    def broadcast(self, buffer: Tensor, *, root: int = 0, lane: int = 0) -> SimulatedHandle:
        """Replace every worker's buffer with the root's."""

        def combine(buffers: dict[int, Tensor], weights: list[float]) -> None:
            _check_root(root, buffers)
            for worker_buffer in buffers.values():
                worker_buffer.copy_(buffers[root])

        return self._among_all(ExchangeKind.BROADCAST, lane, buffer, 1.0, combine)

    def send(self, buffer: Tensor, *, to: int, lane: int = 0) -> SimulatedHandle:
        """Send a buffer to another worker."""
        return self._between_two(self.rank, to, lane, buffer)

    def receive(self, buffer: Tensor, *, source: int, lane: int = 0) -> SimulatedHandle:
        """Fill a buffer with the values that another worker sends."""
        return self._between_two(source, self.rank, lane, buffer)

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """Return the numbers of all workers, by rank."""
        handle = self._among_all(
            ExchangeKind.BARRIER, _CONTROL, list(values), 1.0, lambda rows, weights: list(rows.values())
        )
        handle.wait()
        rows: list[list[float]] = handle.exchange.result
        return rows

    def barrier(self) -> None:
        """Wait until all other workers have called this too."""
        self.gather([])

    def shared_variable(self, buffer: Tensor) -> SimulatedVariable:
        """Return a new shared variable on a server. Its initial value is the first worker's buffer."""
        number, self._variables = self._variables, self._variables + 1
        if self.rank == 0:
            self.network.variables[number] = ServedVariable(buffer.clone())
        self.barrier()
        return SimulatedVariable(self, self.network.variables[number])

    def close(self) -> None:
        """Do nothing, since there are no resources to release."""

    def wait(self, exchange: SimulatedExchange) -> None:
        """Wait until an exchange is complete, and record how long that took."""
        before = self.now
        self.network.world.wait(self.rank, exchange)
        start = max(before, exchange.start)
        self.traffic.waited += start - before
        self.traffic.moved += self.now - start

    def _among_all(
        self, kind: ExchangeKind, lane: Hashable, value: Any, weight: float, combine: Combine
    ) -> SimulatedHandle:
        return self._join_exchange(ExchangePlan(kind, lane, frozenset(range(self.size)), combine), value, weight)

    def _between_two(self, source: int, to: int, lane: int, buffer: Tensor) -> SimulatedHandle:
        def combine(buffers: dict[int, Tensor], weights: list[float]) -> None:
            _check_root(source, buffers)
            if to in buffers:
                buffers[to].copy_(buffers[source])

        plan = ExchangePlan(ExchangeKind.SEND, (lane, source, to), frozenset({source, to}), combine)
        return self._join_exchange(plan, buffer, 1.0)

    def _join_exchange(self, plan: ExchangePlan, value: Any, weight: float) -> SimulatedHandle:
        self._exchanges[plan.lane] += 1
        if isinstance(value, Tensor) and self.size > 1:
            self.traffic.bytes += value.nbytes
        exchange = self.network.join(self.rank, plan, self._exchanges[plan.lane], value, weight)
        return SimulatedHandle(self, exchange)


class SimulatedVariable:
    """A shared variable as one worker sees it. A request takes no time, but sending the values in either direction
    does."""

    def __init__(self, owner: SimulatedCommunicator, server: ServedVariable) -> None:
        self._owner, self._server = owner, server
        self._push: tuple[SimulatedHandle, Tensor] | None = None  # the last change, with its handle

    def exchange(self, buffer: Tensor, alpha: float) -> SimulatedHandle:
        """Move the buffer by `alpha` times its difference from the variable, and send the difference to the variable.

        The worker waits for its turn and for the variable's bytes.
        """
        self._end_push()
        owner, server = self._owner, self._server
        start = max(owner.now, server.sends_until)
        server.sends_until = start + self._send_seconds
        self._wait_until("pull", start, server.sends_until)
        difference = (buffer - server.values_at(owner.now)).mul_(alpha)
        buffer.sub_(difference)
        return self._send_change(difference)

    def read(self, buffer: Tensor) -> None:
        """Fill a buffer with the variable, without taking time. Only tests read it, and tests aren't simulated."""
        buffer.copy_(self._server.values_at(self._owner.now))
        if self._push is not None and not self._push[0].done():
            buffer.add_(self._push[1])

    def write(self, buffer: Tensor) -> None:
        """Set the variable to the values of a buffer."""
        self._end_push()
        start = max(self._owner.now, self._server.receives_until)
        self._server.receives_until = start + self._send_seconds
        self._wait_until("write", start, self._server.receives_until)
        self._server.values_at(self._owner.now).copy_(buffer)

    @property
    def _send_seconds(self) -> float:
        """The seconds that sending the variable takes."""
        return self._owner.network.link.seconds(ExchangeKind.SEND, 2, self._server.values.nbytes)

    def _send_change(self, difference: Tensor) -> SimulatedHandle:
        """Send a change to the server, which receives it after all earlier ones."""
        owner, server = self._owner, self._server
        start = max(owner.now, server.receives_until)
        server.receives_until = start + self._send_seconds
        server.arriving.append((server.receives_until, difference))
        owner.traffic.bytes += difference.nbytes
        handle = SimulatedHandle(owner, SimulatedExchange("push", server.receives_until, start))
        self._push = handle, difference
        return handle

    def _end_push(self) -> None:
        if self._push is not None and not self._push[0].done():
            self._push[0].wait()

    def _wait_until(self, what: str, start: float, finish: float) -> None:
        self._owner.traffic.bytes += self._server.values.nbytes
        self._owner.wait(SimulatedExchange(what, finish, start))


def _check_root(root: int, buffers: dict[int, Tensor]) -> None:
    """Raise a `PeerLostError` if the worker is lost that the exchange requires."""
    if root not in buffers:
        raise PeerLostError(f"worker {root} is lost, but the other workers need it for this exchange")


def weighted_mean(buffers: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Return the mean of buffers, added up in the order of ranks, with the same bits as the real transports."""
    mean = torch.empty_like(buffers[0])
    arrays = [buffer.detach().view(-1).numpy() for buffer in buffers]
    add_up(arrays, scales_of(list(weights), "mean"), mean.view(-1).numpy())
    return mean


class SimulatedClock:
    """The clock of a simulated worker. The world's pace determines the time of an iteration."""

    def __init__(self, world: World, rank: int) -> None:
        self._world, self._rank = world, rank

    def now(self) -> float:
        """Return the time by the worker's clock."""
        return self._world.now[self._rank]

    def finish_iteration(self, iteration: int) -> None:
        """Let the time of an iteration pass."""
        self._world.spend(self._rank, self._world.pace(self._rank, iteration))

    def catch_up(self) -> None:
        """Do nothing, since iterations are already computed when their time has passed."""
