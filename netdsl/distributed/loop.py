"""The loop of rounds in one worker: train and exchange, test, save, report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from netdsl.distributed.journal import Journal
from netdsl.distributed.membership import Membership
from netdsl.distributed.record import Activity, RoundRecord
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.distributed.worker import Worker
from netdsl.distributed.worker_state import restore, save_part
from netdsl.solver.events import Action, Notice, TestFinished, as_numbers, no_action


class Loop:
    """The rounds of one worker.

    The first worker tests and takes snapshots for all, at the end of the round in which an interval of the settings
    ends. With a journal, a run goes on from the entry after which a `membership` begins, or else from the newest one.
    """

    def __init__(
        self,
        worker: Worker,
        strategy: Strategy,
        *,
        journal: Journal | None = None,
        membership: Membership | None = None,
        report: Callable[[RoundRecord], None] = lambda record: None,
        requested: Callable[[], Action] = no_action,
    ) -> None:
        self.worker, self.strategy = worker, strategy
        self._journal, self._report, self._requested = journal, report, requested
        self._score: float | None = None
        self.stopped = False  # whether a stop was requested
        self._members = tuple(range(worker.size)) if membership is None else membership.members
        entry = None
        if journal is not None:
            entry = journal.newest(self._note) if membership is None else journal.after(membership.after)
        if journal is None or entry is None:
            self.strategy_run = strategy.begin(worker)
        else:
            self.strategy_run = restore(worker, strategy, journal, entry, self._members)

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
        self._score = model_score(tests[0]) if tests else None

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
            save_part(journal, number, self._members[worker.rank], worker, self.strategy, self.strategy_run)
        if synchronous:
            worker.communicator.barrier()
        if worker.rank == 0:
            parts = self._members if synchronous else self._members[:1]
            journal.complete(number, self._members, parts, self._score)
            self._score = None


def model_score(test: TestFinished) -> float | None:
    """The score of a model in a test, of which more is better: one of the whole set, or the accuracy, else minus the
    loss.
    """
    scores = tuple(output for output in test.outputs if output.is_score)
    numbers = as_numbers(test.outputs)
    accuracies = (value for name, value in numbers.items() if "acc" in name.lower())
    accuracy = next(iter(as_numbers(scores).values()), next(accuracies, None))
    if accuracy is not None:
        return accuracy
    return -next(iter(numbers.values())) if numbers else None
