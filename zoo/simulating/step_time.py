"""The measured time of an iteration on this machine, and the size of a model."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import quantiles

from netdsl.distributed.machines import Link
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import open_worker
from netdsl.planner.step_profile import iteration_seconds
from netdsl.simulator.communicator import Network, SimulatedCommunicator
from netdsl.simulator.world import World


@dataclass(frozen=True)
class StepMeasurement:
    """The seconds of one worker's iteration without exchanges, and the bytes of its blobs."""

    step: float
    bytes: int


def measure_step(plan: Run) -> StepMeasurement:
    """Measure an iteration; the result is the fastest decile, since a busy machine slows others down.

    If the plan's workers divide a batch, one worker's part is measured.
    """
    communicator = SimulatedCommunicator(Network(World(plan.workers), Link()), 0)
    with open_worker(plan.settled(), communicator) as worker:
        seconds = iteration_seconds(worker.solver.iterate)
        return StepMeasurement(quantiles(seconds, n=10, method="inclusive")[0], worker.weights.nbytes)
