"""The simulation of a run. Its training is real, but its machines and network are simulated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from netdsl.distributed.loop import Loop
from netdsl.distributed.machines import Link
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord
from netdsl.distributed.run_worker import compute_threads, open_worker
from netdsl.simulator.communicator import Network, SimulatedClock, SimulatedCommunicator
from netdsl.simulator.world import Pace, World
from netdsl.solver.events import Action, Event, TestFinished, as_numbers
from netdsl.solver.settings import SolverSettings


@dataclass(frozen=True)
class TestScore:
    """The outputs of the first test net for the joint model. Tests take no simulated time."""

    time: float  # simulated seconds since the beginning
    iteration: int  # of the first worker
    values: Mapping[str, float]

    @property
    def accuracy(self) -> float | None:
        """The first value whose name contains "acc", or `None` if there is none."""
        return next((value for name, value in self.values.items() if "acc" in name.lower()), None)


@dataclass(frozen=True)
class Simulation:
    """The result of a simulation: tests, the rounds of all workers, and the time at which the last worker ended."""

    scores: tuple[TestScore, ...]
    records: tuple[tuple[RoundRecord, ...], ...]  # by rank
    time: float


def simulate(run: Run, *, link: Link, pace: Pace, goal: float = math.inf) -> Simulation:
    """Train the workers of a run in this process, until their model reaches the accuracy `goal` or the run ends.

    Tests follow the settings' `test_interval`, at the ends of rounds. Nothing is saved or displayed.
    """
    return _SimulatedRun(replace(run, solver=_without_output(run.solver)).settled(), link, pace, goal).simulation()


def _without_output(solver: SolverSettings) -> SolverSettings:
    return solver.without("display", "snapshot", "debug_info").with_fields(snapshot_after_train=False)


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
            self._world.run(self._run_worker)
        return Simulation(tuple(self._scores), tuple(map(tuple, self._records)), max(self._world.now))

    def _run_worker(self, rank: int) -> None:
        communicator = SimulatedCommunicator(self._network, rank)
        clock = SimulatedClock(self._world, rank)
        with open_worker(self._run, communicator, clock=clock, listen=self._note_score) as worker:
            Loop(worker, self._run.strategy, report=self._records[rank].append, requested=self._requested_action).run()

    def _note_score(self, event: Event) -> None:
        """Note the score of a test, at the time of the first worker, which is the only one that tests."""
        if isinstance(event, TestFinished) and event.net == 0:
            score = TestScore(self._world.now[0], event.iteration, as_numbers(event.outputs))
            self._scores.append(score)
            self._reached = self._reached or (score.accuracy is not None and score.accuracy >= self._goal)

    def _requested_action(self) -> Action:
        return Action.STOP if self._reached else Action.NONE
