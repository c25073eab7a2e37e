"""The time that several machines take for a number of iterations, if all wait for the slowest."""

from __future__ import annotations

import itertools
import math
from functools import cache
from statistics import NormalDist

from netdsl.distributed.machines import Machines

_RARE = 1e-6  # a probability that makes no difference
_POINTS = 2000  # of the integral
_REACH = 9.0  # standard deviations in which it is taken


def slowest_seconds(machines: Machines, iterations: int) -> float:
    """The expected time until the last of all machines has done so many iterations."""
    return _expected_maximum(
        machines.step * iterations,
        machines.slowdown,
        machines.size - machines.stragglers,
        machines.stragglers,
        _spread(machines.jitter, iterations),
    )


def steps_until(seconds: float, step: float, jitter: float) -> float:
    """The expected number of iterations that a machine begins before so many seconds are over, and at least one.

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
    """The standard deviation of the logarithm of a sum of lognormal times, which is taken to be lognormal too."""
    return math.sqrt(math.log1p(math.expm1(jitter**2) / count)) if jitter and count else 0.0


@cache
def _expected_maximum(mean: float, slowdown: float, quick: int, slow: int, spread: float) -> float:
    """The mean of the largest of `quick` times of a mean, and `slow` times that are longer by a factor.

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
