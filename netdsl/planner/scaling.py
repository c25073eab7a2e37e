"""How many machines are worth having: the lemmas of 'Distributed Training Large-Scale Deep Architectures'."""

from __future__ import annotations

import math

from netdsl.errors import DistributedError

_CLOSE = 0.9  # of a limit that is never reached
_ROUNDING = 1e-9


def efficiency(overhead: float, gpus: int) -> float:
    """The part of its work that each of so many GPUs does for the speed-up, by Lemma 3.1.

    `overhead` is R_O, the seconds in which a single GPU doesn't compute in each second in which it does. Only computing
    is divided among GPUs: this is Amdahl's law.
    """
    _check(overhead, gpus)
    return (1 + overhead) / (1 + gpus * overhead)


def speedup(overhead: float, gpus: int) -> float:
    """How many times as fast as one GPU so many are."""
    return gpus * efficiency(overhead, gpus)


def acceptable_overhead(efficiency: float, gpus: int) -> float:
    """The largest ratio of overhead with which so many GPUs have an efficiency; infinite if they always have it."""
    _check(0.0, gpus)
    if not 0 < efficiency <= 1:
        raise DistributedError(f"an efficiency of {efficiency:g}; it is a share, above 0 and 1 at most")
    if efficiency * gpus <= 1:
        return math.inf
    return (1 - efficiency) / (efficiency * gpus - 1)


def gpus_for(speedup: float, overhead: float) -> int:
    """The least number of GPUs that are so many times as fast as one; a DistributedError if no number is."""
    _check(overhead, 1)
    if speedup <= 1:
        return 1
    left = 1 + overhead - speedup * overhead
    if left <= _ROUNDING:
        raise DistributedError(_beyond(speedup, overhead))
    return math.ceil(speedup / left - _ROUNDING)


def _beyond(speedup: float, overhead: float) -> str:
    """Why no number of GPUs makes training so many times as fast, and what comes near to that."""
    limit = 1 + 1 / overhead
    near = gpus_for(_CLOSE * limit, overhead)
    return (
        f"with an overhead of {overhead:.1%} of computing no number of GPUs is {speedup:g} times as fast as one: the "
        f"limit is {limit:.3g}, and {near} GPUs are {_CLOSE * limit:.3g} times as fast; for {speedup:g} bring the "
        f"overhead below {1 / (speedup - 1):.1%}, with larger batches, more threads that load data, or fewer exchanges"
    )


def parameter_servers(parameter_bytes: int, workers: int, bandwidth: float, computing: float) -> int:
    """The least number of parameter servers that hide what workers exchange with them, by Lemma 3.2.

    Each worker pulls and pushes all parameters once in a round, in which it computes for so many seconds. `bandwidth`
    is that of a server, in bytes a second.
    """
    if parameter_bytes < 0 or workers < 1 or bandwidth <= 0 or computing <= 0:
        raise DistributedError("servers need one worker at least, and a bandwidth and a time of computing above 0")
    return max(1, math.ceil(2 * parameter_bytes * workers / (bandwidth * computing) - _ROUNDING))


def _check(overhead: float, gpus: int) -> None:
    if overhead < 0 or gpus < 1:
        raise DistributedError(
            f"an overhead of {overhead:g} on {gpus} GPUs; it can't be negative, and one GPU is the least"
        )
