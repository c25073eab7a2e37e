"""The length of rounds: a fixed number of iterations, or one that follows from the speed of the network."""

from __future__ import annotations

import math
from typing import Literal

from netdsl.distributed.record import RoundRecord
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError

AUTO: Literal["auto"] = "auto"
Tau = int | Literal["auto"]

_SHARE = 5
SHORT_ROUNDS = 2  # of one iteration, before tau is measured
_INTERVAL = 10  # rounds until tau is measured again
_MOST = 10_000  # workers exchange at least so often, however slow the network is


def check_tau(tau: Tau) -> None:
    """Raise a DistributedError if a round would have no iteration."""
    if tau != AUTO and tau < 1:
        raise DistributedError(f"tau is {tau}; a round has one iteration at least; 'auto' measures how many")


def iterations_per_round(exchange: float, step: float) -> int:
    """The iterations of a round by SparkNet's rule: computing should take five times as long as exchanging."""
    return min(_MOST, max(1, math.ceil(_SHARE * exchange / step))) if step else 1


class Pace:
    """The length of rounds. A measured length is the same for all workers of a run, but may differ between runs."""

    def __init__(self, tau: Tau) -> None:
        self._auto = tau == AUTO
        self._tau = 1 if isinstance(tau, str) else tau
        self._rounds = 0

    def tau(self, worker: Worker) -> int:
        """The iterations of the next round. Of the short ones before a measured tau the first is a warm-up."""
        due = self._rounds == SHORT_ROUNDS or self._rounds % _INTERVAL == 0
        if self._auto and worker.last_record is not None and due:
            self._tau = _measure(worker, worker.last_record)
        self._rounds += 1
        return self._tau


def _measure(worker: Worker, last: RoundRecord) -> int:
    """The iterations of a round by the times of all workers' last one."""
    times = worker.communicator.gather([last.compute / max(1, last.steps), last.exchange])
    step = sum(step for step, _ in times) / len(times)
    return iterations_per_round(max(exchange for _, exchange in times), step)
