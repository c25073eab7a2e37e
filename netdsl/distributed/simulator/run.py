"""A run with several workers as it would go on machines and a network that aren't there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.loop import Loop
from netdsl.distributed.record import RoundRecord
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import compute_threads, open_worker
from netdsl.distributed.simulator.communicator import Network, SimulatedClock, SimulatedCommunicator
from netdsl.distributed.simulator.link import Link
from netdsl.distributed.simulator.world import Pace, World
from netdsl.solver.events import Event, TestFinished, as_numbers
from netdsl.solver.solver import Action


@dataclass(frozen=True)
class TestScore:
    """What the first test net gave for the model that all agreed on, which costs no time."""

    time: float  # virtual seconds since the beginning
    iteration: int  # of the first worker
    values: Mapping[str, float]

    @property
    def accuracy(self) -> float | None:
        """The first value that is called so."""
        return next((value for name, value in self.values.items() if "acc" in name.lower()), None)


@dataclass(frozen=True)
class Simulation:
    """What happened: tests, every worker's rounds, and when the last worker was done."""

    scores: tuple[TestScore, ...]
    records: tuple[tuple[RoundRecord, ...], ...]  # by rank
    time: float


def simulate(run: Run, *, link: Link, pace: Pace, goal: float = math.inf) -> Simulation:
    """Train a run's workers, in this process, until their model is as accurate as `goal` or all is done.

    Tests are made where the settings' `test_interval` says, at the ends of rounds. Nothing is saved or shown.
    """
    return _SimulatedRun(replace(run, solver=_quiet(run.solver)).settled(), link, pace, goal).simulation()


def _quiet(param: pb.SolverParameter) -> pb.SolverParameter:
    changed = pb.SolverParameter()
    changed.CopyFrom(param)
    for name in ("display", "snapshot", "debug_info"):
        changed.ClearField(name)
    changed.snapshot_after_train = False
    return changed


class _SimulatedRun:
    def __init__(self, run: Run, link: Link, pace: Pace, goal: float) -> None:
        self._run, self._goal = run, goal
        self._world = World(run.workers, pace)
        self._network = Network(self._world, link)
        self._scores: list[TestScore] = []
        self._records: list[list[RoundRecord]] = [[] for _ in range(run.workers)]
        self._reached = False

    def simulation(self) -> Simulation:
        with compute_threads(self._run.threads):
            self._world.run(self._work)
        return Simulation(tuple(self._scores), tuple(map(tuple, self._records)), max(self._world.now))

    def _work(self, rank: int) -> None:
        communicator = SimulatedCommunicator(self._network, rank)
        clock = SimulatedClock(self._world, rank)
        with open_worker(self._run, communicator, clock=clock, listen=self._hear) as worker:
            Loop(worker, self._run.strategy, report=self._records[rank].append, requested=self._requested).run()

    def _hear(self, event: Event) -> None:
        """Only the first worker tests, so the time is its own."""
        if isinstance(event, TestFinished) and event.net == 0:
            score = TestScore(self._world.now[0], event.iteration, as_numbers(event.outputs))
            self._scores.append(score)
            self._reached = self._reached or (score.accuracy is not None and score.accuracy >= self._goal)

    def _requested(self) -> Action:
        return Action.STOP if self._reached else Action.NONE
