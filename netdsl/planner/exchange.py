"""The time that rounds and epochs of a strategy take, with this many machines on a network."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from statistics import NormalDist

from netdsl.distributed.machines import ExchangeKind, Link, Machines
from netdsl.distributed.strategies.strategy import (
    AUTO,
    SHORT_ROUNDS,
    ModelSize,
    Strategy,
    StrategyTraffic,
    Transfer,
    Waiting,
    iterations_per_round,
)
from netdsl.errors import DistributedError

_RARE = 1e-6  # a probability that makes no difference
_POINTS = 2000  # of the integral
_REACH = 9.0  # standard deviations in which it is taken
_HALVINGS = 60  # of the range in which a waiting time is looked for


def predict(
    strategy: Strategy, model: ModelSize, machines: Machines, link: Link, backward: float = 0.0
) -> StrategyTime:
    """Predict the times of a strategy on machines that each have such a link.

    `backward` are the seconds of an iteration in which gradients are computed, and those that are complete are
    exchanged already. With 0 they are exchanged after the iteration, as in the simulator. If `tau` is auto, it is what
    SparkNet's rule makes of an iteration and an exchange. No machine is lost.
    """
    if not 0 <= backward <= machines.step:
        raise DistributedError(f"the backward pass takes {backward:g} s of an iteration of {machines.step:g} s")
    traffic = strategy.traffic(model)
    if strategy.synchronous:  # all hear whether one of them was told to stop
        traffic = replace(traffic, round=[*traffic.round, Transfer(ExchangeKind.BARRIER, 0)])
    return StrategyTime(traffic, replace(machines, lost=0), link, backward, strategy.divides_batch)


@dataclass(frozen=True)
class RoundTime:
    """The seconds of a round: of computing by an ordinary machine, of waiting for others, and of exchanges."""

    iterations: int
    computing: float
    waiting: float
    exchanging: float

    @property
    def total(self) -> float:
        """The seconds of the whole round."""
        return self.computing + self.waiting + self.exchanging


@dataclass(frozen=True)
class StrategyTime:
    """The times of a strategy: `begin` once, rounds, and `finish` once.

    With jitter they are expected values. Of workers that don't wait for each other, a round is an ordinary worker's.
    """

    traffic: StrategyTraffic
    machines: Machines
    link: Link
    backward: float
    divides_batch: bool

    @property
    def tau(self) -> int:
        """The iterations of a round, rounded to a whole number."""
        return round(self._iterations)

    @property
    def _iterations(self) -> Fraction:
        """The iterations of a round; of one that ends by the clock the mean of all workers'."""
        traffic, step = self.traffic, self.machines.step
        if traffic.seconds:
            return Fraction(sum(self._timed_steps)) / self.machines.size
        measured = iterations_per_round(self._seconds_of(traffic.round), step)
        return Fraction(measured if traffic.tau == AUTO else traffic.tau)

    @property
    def begin(self) -> float:
        """The seconds before the first round, in which all get the same weights."""
        warmup = self.traffic.warmup
        stop = self.link.seconds(ExchangeKind.BARRIER, self.machines.size, 0) if warmup else 0.0
        return warmup * self._step_seconds(0) + self._seconds_of(self.traffic.begin) + stop

    @property
    def finish(self) -> float:
        """The seconds after the last round until all have the same model, at most."""
        return self._seconds_of(self.traffic.finish)

    @property
    def round(self) -> RoundTime:
        """The seconds of a round."""
        return self._round_time(self.tau)

    @property
    def iterations_per_second(self) -> float:
        """The iterations that all workers do together in a second; if they divide a batch, those that each does."""
        tau = self.tau
        if self.traffic.waiting is not Waiting.ALL:
            return sum(_rate(tau, period) for period in self._periods(tau))
        batches = 1 if self.divides_batch else self.machines.size
        return _rate(float(self._iterations * batches), self.round.total)

    def epoch(self, items: int, batch: int) -> float:
        """Return the seconds in which all workers together see this many items, in a net's batches of this size."""
        return items / batch / self.iterations_per_second

    def run(self, iterations: int) -> float:
        """Return the seconds of a whole run, until the last worker has done this many iterations.

        At a server stragglers are taken to wait for others to the end, though these are done before.
        """
        rounds = self._rounds_of_run(max(0, iterations - self.traffic.warmup))
        match self.traffic.waiting:
            case Waiting.ALL:
                trained = sum(times * self._round_time(count).total for count, times in rounds)
            case Waiting.SERVER:
                trained = self._served_rounds(rounds) if rounds else 0.0
            case Waiting.NOBODY:
                trained = slowest_seconds(self.machines, iterations)
        return self.begin + trained + self.finish

    @property
    def hidden_cycle(self) -> float:
        """The seconds after which what is exchanged beside computing is exchanged again; 0 if nothing is."""
        hidden = [transfer.seconds(self.link, self.machines.size) for transfer in self.traffic.hidden]
        return 0.0 if not hidden else max(*hidden, self._step_seconds(0))

    def _rounds_of_run(self, iterations: int) -> list[tuple[int, int]]:
        """Return the iterations of the rounds of a run, and how many rounds have so many, in order.

        Those whose length is measured follow short ones.
        """
        short = min(iterations, SHORT_ROUNDS if self.traffic.tau == AUTO else 0)
        rounds = (iterations - short) // self._iterations
        rest = iterations - short - math.floor(rounds * self._iterations + Fraction(1, 2))
        return [(count, times) for count, times in ((1, short), (self.tau, rounds), (rest, 1)) if count and times]

    def _round_time(self, iterations: int) -> RoundTime:
        machines, traffic = self.machines, self.traffic
        computing, exchanging = iterations * machines.step, self._seconds_of(traffic.round)
        if traffic.waiting is Waiting.NOBODY:
            return RoundTime(iterations, computing, 0.0, 0.0)
        if traffic.waiting is Waiting.SERVER:
            waiting = self._periods(iterations)[0] - computing - exchanging
            return RoundTime(iterations, computing, waiting, exchanging)
        if traffic.seconds:
            computing = self._timed_steps[0] * machines.step
            last = max(count * self._step_seconds(rank) for rank, count in enumerate(self._timed_steps))
            return RoundTime(iterations, computing, last - computing, exchanging)
        if not traffic.iteration:
            return RoundTime(iterations, computing, slowest_seconds(machines, iterations) - computing, exchanging)
        waiting = iterations * (slowest_seconds(machines, 1) - machines.step)
        return RoundTime(iterations, computing, waiting, exchanging + iterations * self._gradient_seconds)

    @property
    def _timed_steps(self) -> list[float]:
        """The iterations of each machine in rounds that end by the clock."""
        machines = self.machines
        return [steps_until(self.traffic.seconds, machines.step * slow, machines.jitter) for slow in self._slowness]

    @property
    def _gradient_seconds(self) -> float:
        """The seconds of an iteration's exchanges that the backward pass doesn't hide.

        Their pieces are complete one after the other, in equal parts of that pass, and the last one at its end.
        """
        seconds = 0.0
        for transfer in self.traffic.iteration:
            whole, count = transfer.seconds(self.link, self.machines.size), transfer.pieces
            seconds += max(whole / count, whole - self.backward * (count - 1) / count)
        return seconds

    def _served_rounds(self, rounds: Sequence[tuple[int, int]]) -> float:
        """Return the seconds of rounds, of this many iterations and so often, of the worker that a server serves last.

        All of the slowest ones come to it at once in the first round, and one after the other in the later ones. Where
        nobody waits for it, chance delays the last worker by what it does without a server.
        """
        slowness, (opening, _) = self._slowness, rounds[0]
        last = max(range(len(slowness)), key=slowness.__getitem__)
        first = opening * self._step_seconds(last) + slowness.count(slowness[last]) * self._seconds_of(
            self.traffic.round
        )
        others = sum(times * self._periods(count)[last] for count, times in rounds) - self._periods(opening)[last]
        trained = sum(count * times for count, times in rounds)
        idle = self._periods(opening)[last] == self._shortest_periods(opening)[last]
        chance = slowest_seconds(self.machines, trained) - trained * self._step_seconds(last) if idle else 0.0
        return first + others + chance

    def _periods(self, iterations: int) -> list[float]:
        """Return the seconds of a round of each worker, of workers that don't wait for each other."""
        if self.traffic.waiting is Waiting.NOBODY:
            return [iterations * self._step_seconds(rank) for rank in range(self.machines.size)]
        shortest = self._shortest_periods(iterations)
        turn = _turn_seconds(shortest, self._seconds_of(self.traffic.round))
        return [period + turn for period in shortest]

    def _shortest_periods(self, iterations: int) -> list[float]:
        """Return the seconds of a round of each worker, if it always finds the server free."""
        pull, push = self._seconds_of(self.traffic.round), self._seconds_of(self.traffic.hidden)
        return [max(iterations * self._step_seconds(rank), push) + pull for rank in range(self.machines.size)]

    @property
    def _slowness(self) -> list[float]:
        """How many times as long as an ordinary one each machine takes."""
        machines = self.machines
        return [1.0] * (machines.size - machines.stragglers) + [machines.slowdown] * machines.stragglers

    def _step_seconds(self, rank: int) -> float:
        return self.machines.step * self._slowness[rank]

    def _seconds_of(self, transfers: Sequence[Transfer]) -> float:
        return sum(transfer.seconds(self.link, self.machines.size) for transfer in transfers)


def _rate(count: float, seconds: float) -> float:
    return count / seconds if seconds else math.inf


def _turn_seconds(periods: Sequence[float], once: float) -> float:
    """Return the seconds that each worker waits for a server that takes `once` for a request, if it is asked for too
    much.

    `periods` are the seconds after which workers that never wait ask again.
    """
    low, high = 0.0, len(periods) * once
    if not once or sum(once / period for period in periods) <= 1:
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(once / (period + middle) for period in periods) > 1 else (low, middle)
    return high


def slowest_seconds(machines: Machines, iterations: int) -> float:
    """Return the expected time until the last of all machines has done this many iterations."""
    return _expected_maximum(
        machines.step * iterations,
        machines.slowdown,
        machines.size - machines.stragglers,
        machines.stragglers,
        _spread(machines.jitter, iterations),
    )


def steps_until(seconds: float, step: float, jitter: float) -> float:
    """Return the expected number of iterations that a machine begins before this many seconds are over, and at least
    one.

    It is the sum of the probabilities that those before were over in time.
    """
    if not step:
        return 1.0
    if not jitter:
        return max(1.0, math.ceil(seconds / step))
    count = 1.0
    for before in itertools.count(1):
        spread = _spread(jitter, before)
        begun = NormalDist(math.log(before * step) - spread**2 / 2, spread).cdf(math.log(seconds))
        count += begun
        if begun < _RARE and before * step > seconds:
            break
    return count


def _spread(jitter: float, count: int) -> float:
    """Return the standard deviation of the logarithm of a sum of lognormal times, which is taken to be lognormal
    too."""
    return math.sqrt(math.log1p(math.expm1(jitter**2) / count)) if jitter and count else 0.0


@cache
def _expected_maximum(mean: float, slowdown: float, quick: int, slow: int, spread: float) -> float:
    """Return the mean of the largest of `quick` times of a mean, and `slow` times that are longer by a factor.

    It is the integral of the probability that not all of them are over, over the logarithm of time.
    """
    longest = slowdown if slow and (slowdown > 1 or not quick) else 1.0
    if not spread or quick + slow == 1:
        return mean * longest
    means = [(1.0, quick), (slowdown, slow)]
    groups = [(NormalDist(math.log(factor) - spread**2 / 2, spread), count) for factor, count in means if count]
    low = min(normal.mean for normal, _ in groups) - _REACH * spread
    high = max(normal.mean for normal, _ in groups) + _REACH * spread
    width = (high - low) / _POINTS
    logs = [low + (point + 0.5) * width for point in range(_POINTS)]
    rest = [1 - math.prod(normal.cdf(log) ** count for normal, count in groups) for log in logs]
    return mean * (math.exp(low) + width * sum(map(lambda log, part: math.exp(log) * part, logs, rest)))
