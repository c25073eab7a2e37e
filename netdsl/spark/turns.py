"""The workers of a program's own loop on Spark: each takes its turn in a task, from one saved state to the next."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from caffe_proto.errors import CaffeError
from netdsl.allowed_modules import PLUGINS, PYTHON_LAYERS
from netdsl.distributed.journal import Journal, WorkerPart
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import open_solver_of
from netdsl.errors import NetError, user_code_problem
from netdsl.plugins import plugin_places
from netdsl.solver.snapshot_files import RandomStates
from netdsl.solver.solver import Solver
from netdsl.solver.state import SolverPlace, go_to, place_of, restore_random
from netdsl.spark.pipeline.tasks import in_task
from netdsl.training.net import Net, NetForm

WEIGHTS = "weights"  # the name of the flat weights in a saved state
_HISTORY = "history"


@dataclass(frozen=True)
class WorkersTurn:
    """A job in which every worker of a run does some work with its net, from its state after this many turns."""

    folder: str  # of the run, which no other loop has
    form: NetForm
    after: int  # turns
    given: str  # the file of the weights that all begin the turn with; empty where each goes on with its own
    work: Callable[[Net], Any]
    device: str | None = None  # if unset, the GPU that Spark assigned to the task, or else the processor
    python: dict[str, str] = field(default_factory=PYTHON_LAYERS.places)
    plugins: dict[str, str] = field(default_factory=plugin_places)

    def take(self, ranks: Iterable[int]) -> Iterator[TurnResult]:
        """Take the turn of one worker, in a task of Spark's; a problem that would come again is a result."""
        (rank,) = ranks
        with PYTHON_LAYERS.allowing(self.python), PLUGINS.allowing(self.plugins), in_task(self.device) as (_, device):
            try:
                worker = _worker_of(self, rank, device)
                worker.begin(self)
                value = self.work(worker.net)
                yield TurnResult(rank, worker.end(self), value)
            except CaffeError as problem:
                _close_kept()
                yield TurnResult(rank, problem=str(problem))
            except Exception as problem:
                _close_kept()
                sentence = user_code_problem(problem) or f"{type(problem).__name__}: {problem}"
                yield TurnResult(rank, problem=sentence, trace=traceback.format_exc())


@dataclass(frozen=True)
class TurnResult:
    """What came of a worker's turn: what its work returned, or what went wrong."""

    rank: int
    iteration: int = 0
    value: Any = None
    problem: str = ""
    trace: str = ""  # of an exception of the program's own


class KeptWorker:
    """A worker that stays in a process of Spark's between turns, since opening its nets and data takes time.

    The saved state is what counts: if the worker is lost, another one is opened and goes on with the same bits.
    """

    def __init__(self, turn: WorkersTurn, rank: int, device: torch.device) -> None:
        self.key = _key(turn, rank, device)
        self._rank, self._stack = rank, ExitStack()
        run = Run.load(Path(turn.folder))
        self._journal = Journal(Path(turn.folder) / "rounds", run.keeping)
        self._solver: Solver = self._stack.enter_context(open_solver_of(run, rank, run.workers, device=device))
        self.net = turn.form.open().to(device)
        self.net.follow(self._solver)
        self._random: RandomStates | None = None  # after its last turn
        self.turns: int | None = 0  # that it has behind it; None while it is in one, and after one that went wrong

    def begin(self, turn: WorkersTurn) -> None:
        """Be in the state after this many turns."""
        turns, self.turns = self.turns, None
        if turns != turn.after:
            self._go_to_saved(turn.after)
        elif self._random is not None:
            restore_random(self._random)  # which other tasks of this process may have drawn from
        if turn.given:
            weights = self._solver.weights.buffer
            with torch.no_grad():
                weights.copy_(torch.from_numpy(np.load(turn.given, allow_pickle=False)))

    def end(self, turn: WorkersTurn) -> int:
        """Save the state after the turn, and return its iteration."""
        solver = self._solver
        if not self.net.follows(solver):
            raise NetError(
                "the net has another solver or other data now; workers keep the settings and the data of net.on(...)"
            )
        solver.check_finite()
        place = place_of(solver)
        tensors = {f"{_HISTORY}{index}": history for index, history in enumerate(place.histories)}
        part = WorkerPart(**vars(place.point), current_step=place.current_step)
        self._journal.write(turn.after + 1, self._rank, {**tensors, WEIGHTS: solver.weights.buffer}, part)
        self._random, self.turns = place.point.random, turn.after + 1
        return solver.iteration

    def _go_to_saved(self, turns: int) -> None:
        entry = self._journal.after(turns)
        assert entry is not None
        tensors, part = self._journal.read_tensors(entry, self._rank), self._journal.read_part(entry, self._rank)
        with torch.no_grad():
            self._solver.weights.buffer.copy_(tensors.pop(WEIGHTS))
        histories = [tensors[f"{_HISTORY}{index}"] for index in range(len(tensors))]
        go_to(self._solver, SolverPlace(histories, part.current_step, part), entry.path)

    def close(self) -> None:
        """Close its data."""
        self._stack.close()


_KEPT: list[KeptWorker] = []  # the last one of this process


def _key(turn: WorkersTurn, rank: int, device: torch.device) -> tuple[str, int, str]:
    return turn.folder, rank, str(device)


def _worker_of(turn: WorkersTurn, rank: int, device: torch.device) -> KeptWorker:
    """Return the worker that this process has kept, or a new one in its place."""
    kept = _KEPT[0] if _KEPT else None
    begins_again = turn.after == 0 and kept is not None and kept.turns != 0  # with nothing saved to go back to
    if kept is None or kept.key != _key(turn, rank, device) or begins_again:
        kept = None
        _close_kept()
        _KEPT.append(KeptWorker(turn, rank, device))
        gc.freeze()  # or Spark would go through torch's many objects after each task
    return _KEPT[0]


def _close_kept() -> None:
    gc.unfreeze()
    while _KEPT:
        _KEPT.pop().close()
    gc.collect()
