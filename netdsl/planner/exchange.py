"""The time of a strategy's rounds and epochs on a number of machines on a network."""

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

_RARE = 1e-6  # a negligible probability
_POINTS = 2000  # number of points of the integral
_REACH = 9.0  # standard deviations over which it is computed
_HALVINGS = 60  # number of bisections of the range that contains a waiting time


def predict(
    strategy: Strategy, model: ModelSize, machines: Machines, link: Link, backward: float = 0.0
) -> StrategyTime:
    """Predict the times of a strategy on machines that each have this link.

    `backward` is the seconds of an iteration in which gradients are computed, while complete gradients are already
    exchanged. With 0, gradients are exchanged after the iteration, as in the simulator. If `tau` is auto, SparkNet's
    rule sets it from the times of an iteration and an exchange. No machine is lost.
    """
    if not 0 <= backward <= machines.step:
        raise DistributedError(
            f"the backward pass can't take {backward:g} s of an iteration of {machines.step:g} s; give 0 or more, "
            "and at most the iteration's time"
        )
    traffic = strategy.traffic(model)
    if strategy.synchronous:  # a barrier tells all workers whether one of them received a stop
        traffic = replace(traffic, round=[*traffic.round, Transfer(ExchangeKind.BARRIER, 0)])
    return StrategyTime(traffic, replace(machines, lost=0), link, backward, strategy.divides_batch)


@dataclass(frozen=True)
class RoundTime:
    """The seconds of a round, split into computing by an ordinary machine, waiting for others, and exchanging."""

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

    With jitter, they are expected values. If workers don't wait for each other, a round is that of an ordinary worker.
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
        """The iterations of a round. For a timed round, this is the mean over all workers."""
        traffic, step = self.traffic, self.machines.step
        if traffic.seconds:
            return Fraction(sum(self._timed_steps)) / self.machines.size
        measured = iterations_per_round(self._seconds_of(traffic.round), step)
        return Fraction(measured if traffic.tau == AUTO else traffic.tau)

    @property
    def begin(self) -> float:
        """The seconds before the first round, until all workers have the same weights."""
        warmup = self.traffic.warmup
        stop = self.link.seconds(ExchangeKind.BARRIER, self.machines.size, 0) if warmup else 0.0
        return warmup * self._step_seconds(0) + self._seconds_of(self.traffic.begin) + stop

    @property
    def finish(self) -> float:
        """The seconds after the last round until all workers have the same model, at most."""
        return self._seconds_of(self.traffic.finish)

    @property
    def round(self) -> RoundTime:
        """The seconds of a round."""
        return self._round_time(self.tau)

    @property
    def iterations_per_second(self) -> float:
        """The iterations per second, summed over all workers. If workers divide a batch, these are the iterations of
        each."""
        tau = self.tau
        if self.traffic.waiting is not Waiting.ALL:
            return sum(_rate(tau, period) for period in self._periods(tau))
        batches = 1 if self.divides_batch else self.machines.size
        return _rate(float(self._iterations * batches), self.round.total)

    def epoch(self, items: int, batch: int) -> float:
        """Return the seconds in which all workers together see this many items, given the net's batch size."""
        return items / batch / self.iterations_per_second

    def run(self, iterations: int) -> float:
        """Return the seconds of a whole run, until the last worker has done this many iterations.

        With a server, stragglers are assumed to wait for others until the end, although the others finish earlier.
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
        """The seconds between two starts of the exchanges that computing hides, or 0 if there are none."""
        hidden = [transfer.seconds(self.link, self.machines.size) for transfer in self.traffic.hidden]
        return 0.0 if not hidden else max(*hidden, self._step_seconds(0))

    def _rounds_of_run(self, iterations: int) -> list[tuple[int, int]]:
        """Return pairs of a round's iterations and the number of such rounds, in order.

        Rounds with a measured length follow short ones.
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
        """The iterations of each machine in timed rounds."""
        machines = self.machines
        return [steps_until(self.traffic.seconds, machines.step * slow, machines.jitter) for slow in self._slowness]

    @property
    def _gradient_seconds(self) -> float:
        """The seconds of an iteration's exchanges that the backward pass doesn't hide.

        The pieces become complete one after the other, at equal intervals of that pass. The last one is complete at its
        end.
        """
        seconds = 0.0
        for transfer in self.traffic.iteration:
            whole, count = transfer.seconds(self.link, self.machines.size), transfer.pieces
            seconds += max(whole / count, whole - self.backward * (count - 1) / count)
        return seconds

    def _served_rounds(self, rounds: Sequence[tuple[int, int]]) -> float:
        """Return the seconds that these rounds take for the worker that a server serves last.

        `rounds` contains pairs of a round's iterations and the number of such rounds. In the first round all of the
        slowest workers reach the server at once. In later rounds they come one after the other. If workers don't wait
        for the server, chance delays the last worker as much as without a server.
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
        """Return the seconds of a round for each worker, if workers don't wait for each other."""
        if self.traffic.waiting is Waiting.NOBODY:
            return [iterations * self._step_seconds(rank) for rank in range(self.machines.size)]
        shortest = self._shortest_periods(iterations)
        turn = _turn_seconds(shortest, self._seconds_of(self.traffic.round))
        return [period + turn for period in shortest]

    def _shortest_periods(self, iterations: int) -> list[float]:
        """Return the seconds of a round for each worker, if it always finds the server free."""
        pull, push = self._seconds_of(self.traffic.round), self._seconds_of(self.traffic.hidden)
        return [max(iterations * self._step_seconds(rank), push) + pull for rank in range(self.machines.size)]

    @property
    def _slowness(self) -> list[float]:
        """The slowness of each machine relative to an ordinary one."""
        machines = self.machines
        return [1.0] * (machines.size - machines.stragglers) + [machines.slowdown] * machines.stragglers

    def _step_seconds(self, rank: int) -> float:
        return self.machines.step * self._slowness[rank]

    def _seconds_of(self, transfers: Sequence[Transfer]) -> float:
        return sum(transfer.seconds(self.link, self.machines.size) for transfer in transfers)


def _rate(count: float, seconds: float) -> float:
    return count / seconds if seconds else math.inf


def _turn_seconds(periods: Sequence[float], once: float) -> float:
    """Return the seconds that each worker waits for a busy server, which needs `once` for a request.

    `periods` are the seconds between two requests of workers that never wait. Returns 0 if the server isn't overloaded.
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
    """Return the expected number of iterations that a machine begins within this many seconds, at least one.

    It is the sum of the probabilities that the previous iterations were complete in time.
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
    """Return the standard deviation of the logarithm of a sum of lognormal times. The sum is assumed to be lognormal
    too."""
    return math.sqrt(math.log1p(math.expm1(jitter**2) / count)) if jitter and count else 0.0


@cache
def _expected_maximum(mean: float, slowdown: float, quick: int, slow: int, spread: float) -> float:
    """Return the mean of the largest of `quick` times with this mean and `slow` times that are longer by a factor.

    It is the integral, over the logarithm of time, of the probability that not all of them have ended.
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
