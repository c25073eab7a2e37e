"""What an iteration takes on this machine, and how large a model is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import quantiles

from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import open_worker
from netdsl.distributed.simulator.communicator import Network, SimulatedCommunicator
from netdsl.distributed.simulator.link import Link
from netdsl.distributed.simulator.world import World

_WARM_UP = 3  # iterations
_LEAST, _MOST, _SECONDS = 5, 100, 1.0  # iterations that are measured, and for how long


@dataclass(frozen=True)
class Measured:
    """The seconds of an iteration of one worker, without any exchange, and the bytes of its blobs."""

    step: float
    bytes: int


def measured(plan: Run) -> Measured:
    """What quick iterations take, one in ten, since on a busy machine the others say little about the net.

    A batch that workers divide is divided here too.
    """
    communicator = SimulatedCommunicator(Network(World(plan.workers), Link()), 0)
    with open_worker(plan.settled(), communicator) as worker:
        for _ in range(_WARM_UP):
            worker.solver.iterate()
        seconds: list[float] = []
        while len(seconds) < _LEAST or (len(seconds) < _MOST and sum(seconds) < _SECONDS):
            start = time.perf_counter()
            worker.solver.iterate()
            seconds.append(time.perf_counter() - start)
        return Measured(quantiles(seconds, n=10, method="inclusive")[0], worker.weights.nbytes)
