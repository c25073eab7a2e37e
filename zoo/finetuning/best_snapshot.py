"""The best snapshot of a training: the one with the highest accuracy in tests is kept, and others are removed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from netdsl.solver.events import Action, Event, SnapshotSaved, TestFinished, as_numbers
from netdsl.solver.snapshot_files import resume_path_of
from netdsl.tuning.new_head import ACCURACY


class BestSnapshot:
    """A listener that keeps the files of the best snapshot only, and asks to stop when nothing gets better.

    Snapshots and tests are in the same iterations. `tests` are the accuracies of earlier tests by iteration, of a
    training that is resumed.
    """

    def __init__(self, patience: int | None, tests: Iterable[tuple[int, float]] = ()) -> None:
        self._patience = patience
        self._accuracies = dict(tests)
        self._snapshots: dict[int, SnapshotSaved] = {}

    def __call__(self, event: Event) -> None:
        """Note an accuracy, or remove the files of all snapshots but the best."""
        if isinstance(event, TestFinished):
            self._accuracies[event.iteration] = as_numbers(event.outputs).get(ACCURACY, 0.0)
        elif isinstance(event, SnapshotSaved):
            self._snapshots[event.iteration] = event
            for iteration in [number for number in self._snapshots if number != self._best()]:
                _remove(self._snapshots.pop(iteration))

    def _best(self) -> int | None:
        """The iteration of the best snapshot that there is; of equal ones the first."""
        return max(self._snapshots, key=lambda number: (self._accuracies.get(number, -1.0), -number), default=None)

    @property
    def model(self) -> Path | None:
        """The best model."""
        best = self._best()
        return None if best is None else self._snapshots[best].model

    @property
    def accuracy(self) -> float:
        """The accuracy of the best model in its test."""
        best = self._best()
        return 0.0 if best is None else self._accuracies.get(best, 0.0)

    def requested(self) -> Action:
        """A request to stop, once the newest tests weren't better than the best before them."""
        if self._patience is None or not self._accuracies:
            return Action.NONE
        best = max(self._accuracies, key=lambda number: (self._accuracies[number], -number))
        later = [number for number in self._accuracies if number > best]
        return Action.STOP if len(later) >= self._patience else Action.NONE


def _remove(snapshot: SnapshotSaved) -> None:
    for path in (snapshot.model, snapshot.state, resume_path_of(snapshot.state)):
        path.unlink(missing_ok=True)
