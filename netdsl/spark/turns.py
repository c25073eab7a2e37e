"""The workers of a program's own loop on Spark. Each takes its turn in a task, from one saved state to the next."""

from __future__ import annotations

import gc
import os
import socket
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from caffe_proto.errors import CaffeError
from netdsl.distributed.control.client import admitted
from netdsl.distributed.control.protocol import Hello, Purpose
from netdsl.distributed.journal import WorkerPart
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.run_place import RunPlace, run_copy
from netdsl.distributed.run_worker import open_solver_of
from netdsl.errors import NetError, PeerLostError, user_code_problem
from netdsl.solver.snapshot_files import RandomStates
from netdsl.solver.solver import Solver
from netdsl.solver.state import SolverPlace, go_to, place_of, restore_random
from netdsl.spark.pipeline.tasks import in_task
from netdsl.training.net import Net, NetForm

WEIGHTS = "weights"  # the name of the flat weights in a saved state
_HISTORY = "history"


@dataclass(frozen=True)
class WorkersTurn:
    """A job in which every worker of a run works with its net. The worker starts from its state after `after` turns."""

    spec: WorkerSpec  # of a run whose folder has a new name, and belongs to one loop only
    form: NetForm
    after: int  # number of turns
    given: str  # the folder's file of weights with which all begin, or empty if each continues with its own weights
    work: Callable[[Net], Any]
    device: str | None = None  # the GPU that Spark assigned to the task, or otherwise the CPU, if unset

    def take(self, ranks: Iterable[int]) -> Iterator[TurnResult]:
        """Take the turn of one worker, in a task of Spark's. Returns a problem as a result if a retry would repeat
        it."""
        (rank,) = ranks
        with self.spec.allowing(), in_task(self.device) as (_, device):
            try:
                with self._place(rank) as place:
                    worker = _worker_of(self, place, rank, device)
                    worker.begin(self, place)
                    value = self.work(worker.net)
                    yield TurnResult(rank, worker.end(self, place), value)
            except PeerLostError:  # a retry can reach the driver
                _close_kept()
                raise
            except CaffeError as problem:
                _close_kept()
                yield TurnResult(rank, problem=str(problem))
            except Exception as problem:
                _close_kept()
                sentence = user_code_problem(problem) or f"{type(problem).__name__}: {problem}"
                yield TurnResult(rank, problem=sentence, trace=traceback.format_exc())

    @contextmanager
    def _place(self, rank: int) -> Iterator[RunPlace]:
        """Provide the run's folder, or a copy for this turn if this machine doesn't see the folder."""
        folder = Path(self.spec.run)
        if os.access(folder, os.W_OK):
            yield RunPlace(folder)
            return
        connection = admitted(self.spec.control, Hello(rank, socket.gethostname(), Purpose.FILES))
        with run_copy(connection, self.spec.run) as copy:
            yield copy


@dataclass(frozen=True)
class TurnResult:
    """The result of a worker's turn: the value that its work returned, or the problem."""

    rank: int
    iteration: int = 0
    value: Any = None
    problem: str = ""
    trace: str = ""  # the traceback of an exception in the program's own code


class KeptWorker:
    """A worker that a Spark process keeps between turns, since opening its nets and data takes time.

    Only the saved state matters. If the worker is lost, another one is opened and continues with the same bits.
    """

    def __init__(self, turn: WorkersTurn, place: RunPlace, rank: int, device: torch.device) -> None:
        self.key = _key(turn, rank, device)
        self._rank, self._stack = rank, ExitStack()
        run = place.load()
        self._keeping = run.keeping
        self._solver: Solver = self._stack.enter_context(open_solver_of(run, rank, run.workers, device=device))
        self.net = turn.form.open().to(device)
        self.net.follow(self._solver)
        self._random: RandomStates | None = None  # the state after its last turn
        self.turns: int | None = 0  # completed turns; `None` during a turn and after a failed one

    def begin(self, turn: WorkersTurn, place: RunPlace) -> None:
        """Restore the state after the turn's number of previous turns."""
        turns, self.turns = self.turns, None
        if turns != turn.after:
            self._go_to_saved(turn.after, place)
        elif self._random is not None:
            restore_random(self._random)  # other tasks of this process may have drawn random numbers
        if turn.given:
            weights = self._solver.weights.buffer
            place.fetch(turn.given)
            with torch.no_grad():
                weights.copy_(torch.from_numpy(np.load(place.folder / turn.given, allow_pickle=False)))

    def end(self, turn: WorkersTurn, place: RunPlace) -> int:
        """Save the state after the turn, and return the solver's iteration."""
        solver = self._solver
        if not self.net.follows(solver):
            raise NetError(
                "the net now has another solver or other data; leave the settings and the data of net.on(...) "
                "as they are inside a worker"
            )
        solver.check_finite()
        reached = place_of(solver)
        tensors = {f"{_HISTORY}{index}": history for index, history in enumerate(reached.histories)}
        part = WorkerPart(**vars(reached.point), current_step=reached.current_step)
        journal = place.journal(self._keeping)
        journal.write(turn.after + 1, self._rank, {**tensors, WEIGHTS: solver.weights.buffer}, part)
        self._random, self.turns = reached.point.random, turn.after + 1
        return solver.iteration

    def _go_to_saved(self, turns: int, place: RunPlace) -> None:
        journal = place.journal(self._keeping)
        entry = journal.after(turns)
        assert entry is not None
        tensors, part = journal.read_tensors(entry, self._rank), journal.read_part(entry, self._rank)
        with torch.no_grad():
            self._solver.weights.buffer.copy_(tensors.pop(WEIGHTS))
        histories = [tensors[f"{_HISTORY}{index}"] for index in range(len(tensors))]
        go_to(self._solver, SolverPlace(histories, part.current_step, part), entry.path)

    def close(self) -> None:
        """Close the worker's data."""
        self._stack.close()


_KEPT: list[KeptWorker] = []  # the process's last worker, if any


def _key(turn: WorkersTurn, rank: int, device: torch.device) -> tuple[str, int, str]:
    return turn.spec.run, rank, str(device)


def _worker_of(turn: WorkersTurn, place: RunPlace, rank: int, device: torch.device) -> KeptWorker:
    """Return the worker that this process has kept, or a new one instead."""
    kept = _KEPT[0] if _KEPT else None
    begins_again = turn.after == 0 and kept is not None and kept.turns != 0  # there is no saved state to restore
    if kept is None or kept.key != _key(turn, rank, device) or begins_again:
        kept = None
        _close_kept()
        _KEPT.append(KeptWorker(turn, place, rank, device))
        gc.freeze()  # otherwise Spark would go through torch's many objects after each task
    return _KEPT[0]


def _close_kept() -> None:
    gc.unfreeze()
    while _KEPT:
        _KEPT.pop().close()
    gc.collect()
