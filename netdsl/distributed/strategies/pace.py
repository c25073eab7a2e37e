"""How many iterations a round has: so many, or as many as the network asks for."""

from __future__ import annotations

import math
from typing import Literal

from netdsl.distributed.record import RoundRecord
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError

AUTO: Literal["auto"] = "auto"
Tau = int | Literal["auto"]

_SHARE = 5  # SparkNet's rule: computing should take five times as long as exchanging
_EVERY = 10  # rounds, after which it is chosen anew
_MOST = 10_000  # however slow a network is, workers must meet


def check_tau(tau: Tau) -> None:
    """A DistributedError for a number that is none."""
    if tau != AUTO and tau < 1:
        raise DistributedError(f"tau is {tau}; a round has one iteration at least; 'auto' measures how many")


class Pace:
    """The length of rounds. What is chosen by measuring is the same for all workers, but not in every run."""

    def __init__(self, tau: Tau) -> None:
        self._auto = tau == AUTO
        self._chosen = 1 if isinstance(tau, str) else tau
        self._rounds = 0

    def tau(self, worker: Worker) -> int:
        """Of the round that begins. The first two are short, since the very first also warms everything up."""
        if self._auto and worker.last is not None and (self._rounds == 2 or self._rounds % _EVERY == 0):
            self._chosen = self._measured(worker, worker.last)
        self._rounds += 1
        return self._chosen

    def _measured(self, worker: Worker, last: RoundRecord) -> int:
        found = worker.communicator.gather([last.compute / max(1, last.steps), last.exchange])
        step = sum(step for step, _ in found) / len(found)
        exchange = max(exchange for _, exchange in found)
        return min(_MOST, max(1, math.ceil(_SHARE * exchange / step))) if step else 1
