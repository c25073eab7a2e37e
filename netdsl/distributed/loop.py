"""The loop of rounds in one worker: it trains, exchanges, tests, saves and reports. Also restores saved states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor

from netdsl.distributed.journal import Journal, JournalEntry, Membership, WorkerPart
from netdsl.distributed.run_log import Activity, RoundRecord
from netdsl.distributed.strategies.strategy import Strategy, StrategyRun
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError
from netdsl.solver.events import Action, Notice, TestFinished, as_numbers, no_action
from netdsl.solver.length import is_due
from netdsl.solver.settings import seed
from netdsl.solver.state import resume_from, resume_point

_APART = 1 << 20  # distance between the seeds of two rounds; more than the number of workers


class Loop:
    """The rounds of one worker.

    The first worker tests and takes snapshots for all, at the ends of rounds. With a journal, a run resumes from the
    entry after which a `membership` begins, or otherwise from the newest entry. Before the worker writes to the run's
    folder, it calls `check_writer`, which raises an error if another process does that now.
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
        check_writer: Callable[[], object] = lambda: None,
    ) -> None:
        self.worker, self.strategy = worker, strategy
        self._journal, self._report, self._requested = journal, report, requested
        self._check_writer = check_writer
        self._score: float | None = None
        self.stopped = False  # whether a stop was requested
        self._members = tuple(range(worker.size)) if membership is None else membership.members
        entry = None
        if journal is not None:
            entry = journal.newest(self._tell_notice) if membership is None else journal.after(membership.after)
        if journal is None or entry is None:
            self.strategy_run = strategy.begin(worker)
        else:
            self.strategy_run = restore(worker, strategy, journal, entry, self._members)

    def _tell_notice(self, text: str) -> None:
        self.worker.solver.listen(Notice(text))

    def run(self) -> None:
        """Train to the end, or until a stop is requested. Synchronous workers all stop after the same round."""
        worker = self.worker
        worker.solver.listen(worker.solver.started_event(worker.size))
        if not worker.solver.iteration and worker.solver.param.test_initialization:
            self._test_model()
        while worker.remaining and not self.stopped:
            worker.begin_round()
            self.strategy_run.round()
            self._end_round(last=self.strategy.synchronous and not worker.remaining)
        self._finish_strategy()
        if worker.rank == 0 and not self.stopped:
            self._take_final_snapshot()

    def _finish_strategy(self) -> None:
        """Let the strategy finish. Asynchronous workers finish in an extra round without training."""
        if self.strategy.synchronous or self.stopped:
            self.strategy_run.finish()
            return
        self.worker.begin_round()
        self.strategy_run.finish()
        self._end_round(last=True)

    def _end_round(self, *, last: bool) -> None:
        """Test, take a snapshot and save the state where each is due, and report the round."""
        worker, number = self.worker, self.worker.record.number
        self._check_for_stop()
        if worker.rank == 0 and (last or (worker.remaining and worker.is_due(worker.intervals.test))):
            self._test_model()
        if worker.rank == 0 and worker.remaining and worker.is_due(worker.intervals.snapshot):
            self._check_writer()
            with self._model_in_place():
                worker.solver.snapshot()
        journal = self._journal
        if journal is not None and (number % journal.retention.every == 0 or last or self.stopped):
            with worker.activity(Activity.SAVE):
                self._save_state(journal, number)
        self._report(worker.end_round())

    def _check_for_stop(self) -> None:
        """Note whether a stop was requested. Synchronous workers all stop if one of them receives the request."""
        stop = self._requested() is Action.STOP
        if self.strategy.synchronous:
            stop = any(request for (request,) in self.worker.communicator.gather([float(stop)]))
        self.stopped = self.stopped or stop

    def _test_model(self) -> None:
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
        solver, interval = self.worker.solver, self.worker.intervals.snapshot
        if solver.param.snapshot_after_train or is_due(interval, solver.iteration - 1, solver.iteration):
            self._check_writer()
            with self._model_in_place():
                self.worker.solver.snapshot()

    @contextmanager
    def _model_in_place(self) -> Iterator[None]:
        """Put the joint model's values into the worker's blobs inside the context, and restore its own values
        afterwards."""
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

    def _save_state(self, journal: Journal, number: int) -> None:
        """Save the state of a round. Asynchronous workers save only the model, from which all of them restart."""
        worker, synchronous = self.worker, self.strategy.synchronous
        self._check_writer()
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
    """Return the score of a model in a test; higher is better.

    The score is the whole set's score or the accuracy if the test has one, and minus the loss otherwise.
    """
    scores = tuple(output for output in test.outputs if output.is_score)
    numbers = as_numbers(test.outputs)
    accuracies = (value for name, value in numbers.items() if "acc" in name.lower())
    accuracy = next(iter(as_numbers(scores).values()), next(accuracies, None))
    if accuracy is not None:
        return accuracy
    return -next(iter(numbers.values())) if numbers else None


def save_part(journal: Journal, after: int, number: int, worker: Worker, strategy: Strategy, run: StrategyRun) -> None:
    """Write a worker's part of the entry after a round."""
    part = WorkerPart(**vars(resume_point(worker.solver)), current_step=worker.solver.current_step)
    journal.write(after, number, _saved_tensors(worker, strategy, run), part)


def restore(
    worker: Worker, strategy: Strategy, journal: Journal, entry: JournalEntry, members: Sequence[int]
) -> StrategyRun:
    """Begin a strategy from an entry, of which a worker takes its own part.

    A worker without a part, such as a new one, begins with the first worker's part and its own random numbers. If the
    set of workers has changed, the workers divide the data that the previous workers haven't read yet.
    """
    number = members[worker.rank]
    source = number if number in entry.parts else entry.parts[0]
    saved, part = journal.read_tensors(entry, source), journal.read_part(entry, source)
    _copy_saved(saved, {"weights": worker.weights}, entry)  # the strategy begins with these weights
    run = strategy.begin(worker)
    tensors = _saved_tensors(worker, strategy, run)
    if source != number:  # the first worker's part may contain tensors that only it uses
        tensors = {name: tensor for name, tensor in tensors.items() if name in saved}
    _copy_saved(saved, tensors, entry)
    worker.agree_on_iteration(part.iteration)
    worker.solver.current_step = part.current_step
    worker.record.number = entry.round
    if source != number or tuple(members) != (entry.members or tuple(members)):
        # These rows belong to other items.
        part = replace(part, data=_data_positions(journal, entry, strategy, members), kept=[])
    resume_from(worker.solver, part, entry.path)
    if source != number:
        seed(worker.solver.param, number + _APART * entry.round)
    return run


def _saved_tensors(worker: Worker, strategy: Strategy, run: StrategyRun) -> dict[str, Tensor]:
    """Return the tensors of an entry, as views of those in use."""
    tensors = {f"history{index}": history for index, history in enumerate(worker.solver.updater.histories)}
    tensors |= {f"strategy.{name}": tensor for name, tensor in run.state().items()}
    return tensors | {"weights": worker.weights if strategy.synchronous else run.model()}


@torch.no_grad()
def _copy_saved(saved: Mapping[str, Tensor], tensors: Mapping[str, Tensor], entry: JournalEntry) -> None:
    """Copy saved values into tensors."""
    for name, tensor in tensors.items():
        if name not in saved or saved[name].shape != tensor.shape:
            raise DistributedError(
                f"{entry.path}: the entry was saved with another net, solver or strategy; resume it with the "
                "solver and the strategy in the run's folder"
            )
        tensor.copy_(saved[name])


def _data_positions(
    journal: Journal, entry: JournalEntry, strategy: Strategy, members: Sequence[int]
) -> dict[str, int]:
    """Return each worker's next position in its part of the data, so that no item is read twice.

    For asynchronous workers only the first worker's position is known. All workers use it.
    """
    before, parts = len(entry.members or members), entry.parts
    batches = Counter[str]()
    for number in parts:
        batches.update(journal.read_part(entry, number).data)
    size = before if strategy.divides_batch else len(members)  # a divided batch keeps its size
    return {name: -(-count * before // len(parts) // size) for name, count in batches.items()}
