"""Rounds until all iterations are done: train and exchange, test, save, tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from netdsl.distributed.journal import Journal, JournalEntry
from netdsl.distributed.record import Activity, RoundRecord
from netdsl.distributed.strategies.strategy import Strategy, StrategyRun
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError
from netdsl.solver.events import TestFinished, as_numbers
from netdsl.solver.solver import Action, no_action
from netdsl.solver.state import resume_from, resume_point


class Loop:
    """One worker's part of a run.

    The first worker tests and takes snapshots for all, at the end of the round in which the settings' intervals are
    reached. With a journal, a run goes on from its newest entry.
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
        self.stopped = False  # because it was asked to
        entry = journal.newest() if journal is not None else None
        if journal is None or entry is None:
            self.strategy_run = strategy.begin(worker)
        else:
            self.strategy_run = self._resumed(journal, entry)

    def run(self) -> None:
        """Train to the end, or until it is asked to stop, which all do after the same round."""
        worker, before = self.worker, self.worker.solver.iteration
        worker.solver.listen(worker.solver.started_event(worker.size))
        if not before and worker.solver.param.test_initialization:
            self._test()
        while worker.remaining and not self.stopped:
            worker.begin_round()
            self.strategy_run.round()
            self._after(before, last=self.strategy.synchronous and not worker.remaining)
            before = worker.solver.iteration
        self._finish()
        if worker.rank == 0 and not self.stopped:
            with self._holding_model():
                self._end()

    def _finish(self) -> None:
        """Where rounds don't end for all at once, workers meet for a last one, without training."""
        if self.strategy.synchronous or self.stopped:
            self.strategy_run.finish()
            return
        self.worker.begin_round()
        self.strategy_run.finish()
        self._after(self.worker.solver.iteration, last=True)

    def _after(self, before: int, *, last: bool) -> None:
        worker, number = self.worker, self.worker.record.number
        self._heed()
        if worker.rank == 0 and (self._due("test_interval", before) or last):
            self._test()
        if worker.rank == 0 and self._due("snapshot", before) and worker.remaining:
            with self._holding_model():
                worker.solver.snapshot()
        journal = self._journal
        if journal is not None and (number % journal.keeping.every == 0 or last or self.stopped):
            with worker.doing(Activity.SAVE):
                self._save(journal, number)
        self._report(worker.end_round())

    def _heed(self) -> None:
        """Stop if somebody wants to: for all at once, where rounds end so."""
        wants = self._requested() is Action.STOP
        if self.strategy.synchronous:
            wants = any(each for (each,) in self.worker.communicator.gather([float(wants)]))
        self.stopped = self.stopped or wants

    def _due(self, name: str, before: int) -> bool:
        every: int = getattr(self.worker.solver.param, name)
        return every > 0 and self.worker.solver.iteration // every > before // every

    def _test(self) -> None:
        worker, solver = self.worker, self.worker.solver
        if not solver.tests:
            return
        with worker.doing(Activity.TEST), self._holding_model():
            found = solver.test_all()
        for tested in found:
            prefix = f"{tested.net}." if tested.net else ""
            worker.record.accuracy |= {prefix + name: value for name, value in as_numbers(tested.outputs).items()}
        self._score = _score(found[0]) if found else None

    def _end(self) -> None:
        if self.worker.solver.param.snapshot_after_train:
            self.worker.solver.snapshot()

    @contextmanager
    def _holding_model(self) -> Iterator[None]:
        """Have the blobs that all agreed on, and then the own ones again."""
        weights, model = self.worker.weights, self.strategy_run.model()
        if model.data_ptr() == weights.data_ptr():
            yield
            return
        own = weights.clone()
        weights.copy_(model)
        try:
            yield
        finally:
            weights.copy_(own)

    def _save(self, journal: Journal, number: int) -> None:
        """Everybody's state where a round ends for all; else only the model, from which all begin again."""
        worker, together = self.worker, self.strategy.synchronous
        if together or worker.rank == 0:
            notes = {**resume_point(worker.solver), "current_step": worker.solver.current_step}
            journal.write(number, worker.rank, self._tensors(), notes)
        if together:
            worker.communicator.barrier()
        if worker.rank == 0:
            journal.complete(number, worker.size if together else 1, self._score)
            self._score = None

    def _tensors(self) -> dict[str, Tensor]:
        """What is saved, as views on what is in use."""
        updater, state = self.worker.solver.updater, self.strategy_run.state()
        found = {f"history{index}": history for index, history in enumerate(updater.histories)}
        found |= {f"strategy.{name}": tensor for name, tensor in state.items()}
        return found | {"weights": self.worker.weights if self.strategy.synchronous else self.strategy_run.model()}

    def _resumed(self, journal: Journal, entry: JournalEntry) -> StrategyRun:
        worker = self.worker
        rank = worker.rank if self.strategy.synchronous else 0
        saved, notes = journal.read(entry, rank)
        self._take_over(saved, {"weights": worker.weights}, entry)  # with which the strategy begins
        self.strategy_run = self.strategy.begin(worker)
        wanted = self._tensors()
        if rank != worker.rank:
            wanted = {name: tensor for name, tensor in wanted.items() if name in saved}
        self._take_over(saved, wanted, entry)
        worker.agree_on_iteration(notes["iteration"])
        worker.solver.current_step = notes["current_step"]
        worker.record.number = entry.round
        if rank == worker.rank:
            resume_from(worker.solver, notes, entry.path)
        return self.strategy_run

    @torch.no_grad()
    def _take_over(self, saved: Mapping[str, Tensor], own: Mapping[str, Tensor], entry: JournalEntry) -> None:
        for name, tensor in own.items():
            if name not in saved or saved[name].shape != tensor.shape:
                raise DistributedError(f"{entry.path}: is the state of another net, solver or strategy")
            tensor.copy_(saved[name])


def _score(tested: TestFinished) -> float | None:
    """More is better: an accuracy if there is one, else the loss."""
    numbers = as_numbers(tested.outputs)
    accuracy = next((value for name, value in numbers.items() if "acc" in name.lower()), None)
    if accuracy is not None:
        return accuracy
    return -next(iter(numbers.values())) if numbers else None
