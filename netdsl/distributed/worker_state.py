"""A worker's state in the journal: what is kept of it after a round, and how it goes on, also among other workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from netdsl.distributed.journal import Journal, JournalEntry, WorkerPart
from netdsl.distributed.strategies.strategy import Strategy, StrategyRun
from netdsl.distributed.worker import Worker
from netdsl.errors import DistributedError
from netdsl.solver.settings import seed
from netdsl.solver.state import resume_from, resume_point

_APART = 1 << 20  # between the seeds of two rounds; more than there are workers


def save_part(journal: Journal, after: int, number: int, worker: Worker, strategy: Strategy, run: StrategyRun) -> None:
    """Write a worker's part of the entry after a round."""
    part = WorkerPart(**vars(resume_point(worker.solver)), current_step=worker.solver.current_step)
    journal.write(after, number, _tensors(worker, strategy, run), part)


def restore(
    worker: Worker, strategy: Strategy, journal: Journal, entry: JournalEntry, members: Sequence[int]
) -> StrategyRun:
    """Begin a strategy from an entry, of which a worker takes its own part.

    Without one, as when it is new, it begins with the first worker's part and random numbers of its own. If other
    workers take part than before, they divide the data from the place on up to which the others have come.
    """
    number = members[worker.rank]
    source = number if number in entry.parts else entry.parts[0]
    saved, part = journal.read_tensors(entry, source), journal.read_part(entry, source)
    _copy(saved, {"weights": worker.weights}, entry)  # the strategy begins with them
    run = strategy.begin(worker)
    tensors = _tensors(worker, strategy, run)
    if source != number:  # the first worker may have saved what only it has
        tensors = {name: tensor for name, tensor in tensors.items() if name in saved}
    _copy(saved, tensors, entry)
    worker.agree_on_iteration(part.iteration)
    worker.solver.current_step = part.current_step
    worker.record.number = entry.round
    if source != number or tuple(members) != (entry.members or tuple(members)):
        part = replace(part, data=_positions(journal, entry, strategy, members), kept=[])  # of other items
    resume_from(worker.solver, part, entry.path)
    if source != number:
        seed(worker.solver.param, number + _APART * entry.round)
    return run


def _tensors(worker: Worker, strategy: Strategy, run: StrategyRun) -> dict[str, Tensor]:
    """The tensors of an entry, as views on those in use."""
    tensors = {f"history{index}": history for index, history in enumerate(worker.solver.updater.histories)}
    tensors |= {f"strategy.{name}": tensor for name, tensor in run.state().items()}
    return tensors | {"weights": worker.weights if strategy.synchronous else run.model()}


@torch.no_grad()
def _copy(saved: Mapping[str, Tensor], tensors: Mapping[str, Tensor], entry: JournalEntry) -> None:
    """Copy saved values into tensors."""
    for name, tensor in tensors.items():
        if name not in saved or saved[name].shape != tensor.shape:
            raise DistributedError(f"{entry.path}: is the state of another net, solver or strategy")
        tensor.copy_(saved[name])


def _positions(journal: Journal, entry: JournalEntry, strategy: Strategy, members: Sequence[int]) -> dict[str, int]:
    """Where each of these workers goes on in its part of the data, so that none of what was read is read again.

    Of asynchronous workers only the first one's position is known, and taken as that of all.
    """
    before, parts = len(entry.members or members), entry.parts
    batches = Counter[str]()
    for number in parts:
        batches.update(journal.read_part(entry, number).data)
    size = before if strategy.divides_batch else len(members)  # a divided batch is as large as before
    return {name: -(-count * before // len(parts) // size) for name, count in batches.items()}
