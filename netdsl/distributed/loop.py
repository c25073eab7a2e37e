"""The loop of rounds in one worker: train and exchange, test, save, report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import msgspec
import torch
from torch import Tensor

from netdsl.distributed.journal import Journal, JournalEntry, WorkerPart
from netdsl.distributed.record import Activity, RoundRecord
from netdsl.distributed.strategies.strategy import Strategy, StrategyRun
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError
from netdsl.solver.action import Action, no_action
from netdsl.solver.events import Notice, TestFinished, as_numbers
from netdsl.solver.state import resume_from, resume_point


class Loop:
    """The rounds of one worker.

    The first worker tests and takes snapshots for all, at the end of the round in which an interval of the settings
    ends. With a journal, a run resumes from the newest entry.
    """

    def __init__(
        self,
        worker: Worker,
        strategy: Strategy,
        *,
        journal: Journal | None = None,
        report: Callable[[RoundRecord], None] = lambda record: None,
        requested: Callable[[], Action] = no_action,
    ) -> None:
        self.worker, self.strategy = worker, strategy
        self._journal, self._report, self._requested = journal, report, requested
        self._score: float | None = None
        self.stopped = False  # whether a stop was requested
        entry = journal.newest(self._note) if journal is not None else None
        if journal is None or entry is None:
            self.strategy_run = strategy.begin(worker)
        else:
            self.strategy_run = self._resume(journal, entry)

    def _note(self, text: str) -> None:
        self.worker.solver.listen(Notice(text))

    def run(self) -> None:
        """Train to the end, or until a stop is requested; synchronous workers all stop after the same round."""
        worker, before = self.worker, self.worker.solver.iteration
        worker.solver.listen(worker.solver.started_event(worker.size))
        if not before and worker.solver.param.test_initialization:
            self._test()
        while worker.remaining and not self.stopped:
            worker.begin_round()
            self.strategy_run.round()
            self._end_round(before, last=self.strategy.synchronous and not worker.remaining)
            before = worker.solver.iteration
        self._finish()
        if worker.rank == 0 and not self.stopped:
            self._take_final_snapshot()

    def _finish(self) -> None:
        """Let the strategy finish; asynchronous workers do so in a last round, in which they don't train."""
        if self.strategy.synchronous or self.stopped:
            self.strategy_run.finish()
            return
        self.worker.begin_round()
        self.strategy_run.finish()
        self._end_round(self.worker.solver.iteration, last=True)

    def _end_round(self, before: int, *, last: bool) -> None:
        """Test, take a snapshot and save the state where each is due, and report the round."""
        worker, number = self.worker, self.worker.record.number
        self._check_for_stop()
        if worker.rank == 0 and (self._due("test_interval", before) or last):
            self._test()
        if worker.rank == 0 and self._due("snapshot", before) and worker.remaining:
            with self._model_in_place():
                worker.solver.snapshot()
        journal = self._journal
        if journal is not None and (number % journal.retention.every == 0 or last or self.stopped):
            with worker.activity(Activity.SAVE):
                self._save(journal, number)
        self._report(worker.end_round())

    def _check_for_stop(self) -> None:
        """Note whether a stop was requested; of synchronous workers, all stop if one of them is asked to."""
        stop = self._requested() is Action.STOP
        if self.strategy.synchronous:
            stop = any(request for (request,) in self.worker.communicator.gather([float(stop)]))
        self.stopped = self.stopped or stop

    def _due(self, name: str, before: int) -> bool:
        """Whether an interval of the settings ended since the iteration `before`."""
        interval: int = getattr(self.worker.solver.param, name)
        return interval > 0 and self.worker.solver.iteration // interval > before // interval

    def _test(self) -> None:
        worker, solver = self.worker, self.worker.solver
        if not solver.tests:
            return
        with worker.activity(Activity.TEST), self._model_in_place():
            tests = solver.test_all()
        for test in tests:
            prefix = f"{test.net}." if test.net else ""
            worker.record.accuracy |= {prefix + name: value for name, value in as_numbers(test.outputs).items()}
        self._score = _score(tests[0]) if tests else None

    def _take_final_snapshot(self) -> None:
        if self.worker.solver.param.snapshot_after_train:
            with self._model_in_place():
                self.worker.solver.snapshot()

    @contextmanager
    def _model_in_place(self) -> Iterator[None]:
        """Put the joint model's values into the worker's blobs inside the context, and its own back afterwards."""
        weights, model = self.worker.weights, self.strategy_run.model()
        if model.data_ptr() == weights.data_ptr():
            yield
            return
        worker_weights = weights.clone()
        weights.copy_(model)
        try:
            yield
        finally:
            weights.copy_(worker_weights)

    def _save(self, journal: Journal, number: int) -> None:
        """Save the state of every synchronous worker; of asynchronous ones only the model, from which all restart."""
        worker, synchronous = self.worker, self.strategy.synchronous
        if synchronous:
            worker.solver.check_finite()
        elif worker.rank == 0:
            with self._model_in_place():
                worker.solver.check_finite()
        if synchronous or worker.rank == 0:
            point = msgspec.structs.asdict(resume_point(worker.solver))
            part = WorkerPart(**point, current_step=worker.solver.current_step)
            journal.write(number, worker.rank, self._tensors(), part)
        if synchronous:
            worker.communicator.barrier()
        if worker.rank == 0:
            journal.complete(number, worker.size if synchronous else 1, self._score)
            self._score = None

    def _tensors(self) -> dict[str, Tensor]:
        """The tensors of an entry, as views on those in use."""
        updater, state = self.worker.solver.updater, self.strategy_run.state()
        tensors = {f"history{index}": history for index, history in enumerate(updater.histories)}
        tensors |= {f"strategy.{name}": tensor for name, tensor in state.items()}
        return tensors | {"weights": self.worker.weights if self.strategy.synchronous else self.strategy_run.model()}

    def _resume(self, journal: Journal, entry: JournalEntry) -> StrategyRun:
        """Restore the solver and the strategy from an entry."""
        worker = self.worker
        rank = worker.rank if self.strategy.synchronous else 0
        saved, part = journal.read(entry, rank)
        self._restore({"weights": worker.weights}, saved, entry)  # the strategy begins with them
        self.strategy_run = self.strategy.begin(worker)
        tensors = self._tensors()
        if rank != worker.rank:
            tensors = {name: tensor for name, tensor in tensors.items() if name in saved}
        self._restore(tensors, saved, entry)
        worker.agree_on_iteration(part.iteration)
        worker.solver.current_step = part.current_step
        worker.record.number = entry.round
        if rank == worker.rank:
            resume_from(worker.solver, part, entry.path)
        return self.strategy_run

    @torch.no_grad()
    def _restore(self, tensors: Mapping[str, Tensor], saved: Mapping[str, Tensor], entry: JournalEntry) -> None:
        """Copy saved values into tensors."""
        for name, tensor in tensors.items():
            if name not in saved or saved[name].shape != tensor.shape:
                raise DistributedError(f"{entry.path}: is the state of another net, solver or strategy")
            tensor.copy_(saved[name])


def _score(test: TestFinished) -> float | None:
    """The score of a model in a test, of which more is better: the accuracy if there is one, else minus the loss."""
    numbers = as_numbers(test.outputs)
    accuracy = next((value for name, value in numbers.items() if "acc" in name.lower()), None)
    if accuracy is not None:
        return accuracy
    return -next(iter(numbers.values())) if numbers else None
