"""The choice of the best model of a fine-tuning, by its tests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from netdsl.distributed.run_log import EVENTS, Moment, moments_of
from netdsl.solver.events import (
    Action,
    Event,
    SnapshotSaved,
    TestFinished,
    TrainingProgress,
    as_numbers,
    read_event_log,
)
from netdsl.solver.snapshot_files import resume_path_of
from netdsl.tuning.new_head import ACCURACY

UNTRAINED = "untrained.caffemodel"  # the model before the training, which is a candidate too, in a run's folder
_DIVERGED = 3.0  # times the first loss in training
_LOWER = 0.99  # a test's loss counts as progress if it is lower than this part of the lowest one


class BestSnapshot:
    """A listener that keeps only the files of the best snapshot, and asks to stop when tests no longer improve.

    Training goes on for some time until it stops. What happens in this time doesn't count, so the result doesn't depend
    on how fast a machine is.

    The best test has the highest accuracy. Among equal accuracies, the lower loss wins. Snapshots and tests are made at
    the same iterations. In a resumed training, `earlier` contains the losses and tests until then. `losses` are the
    weights of the outputs that are losses. `untrained` is the file of the model before the training, if it is a
    candidate too. This file is kept.
    """

    def __init__(
        self,
        patience: int | None,
        losses: Mapping[str, float],
        earlier: Iterable[Moment] = (),
        untrained: Path | None = None,
    ) -> None:
        self._patience, self._losses = patience, losses
        self._tests, self._trained = dict[int, tuple[float, float]](), dict[int, float]()
        for moment in earlier:
            if ACCURACY in moment.tested:
                self._tests[moment.iteration] = self._result_of(moment.tested)
            if moment.loss is not None:
                self._trained[moment.iteration] = moment.loss
        self._untrained = untrained
        self._snapshots: dict[int, SnapshotSaved] = {}

    def _result_of(self, outputs: Mapping[str, float]) -> tuple[float, float]:
        """Return the accuracy and the loss of a test, in which numbers that aren't finite are the worst."""
        accuracy = outputs.get(ACCURACY, 0.0)
        loss = sum(weight * outputs.get(name, 0.0) for name, weight in self._losses.items())
        return accuracy if math.isfinite(accuracy) else 0.0, loss if math.isfinite(loss) else math.inf

    def __call__(self, event: Event) -> None:
        """Record a loss or a test, or remove the files of all snapshots except the best."""
        if isinstance(event, TestFinished):
            self._tests[event.iteration] = self._result_of(as_numbers(event.outputs))
        elif isinstance(event, TrainingProgress):
            self._trained[event.iteration] = event.loss
        elif isinstance(event, SnapshotSaved):
            self._snapshots[event.iteration] = event
            for iteration in [number for number in self._snapshots if number != self.iteration]:
                _remove_snapshot(self._snapshots.pop(iteration))

    @property
    def iteration(self) -> int | None:
        """The iteration of the best model, which is 0 before the training, or `None` without any model."""
        untrained, end = () if self._untrained is None else (0,), self._end
        in_time = [iteration for iteration in self._snapshots if iteration <= end]
        return max((*untrained, *in_time), key=self._quality, default=None)

    def _quality(self, iteration: int) -> tuple[float, float, int]:
        """Return an order of iterations, in which the first of equally good ones is the best."""
        accuracy, loss = self._tests.get(iteration, (-1.0, math.inf))
        return accuracy, -loss, -iteration

    @property
    def model(self) -> Path | None:
        """The file of the best model, or `None`."""
        best = self.iteration
        if best is None:
            return None
        return self._snapshots[best].model if best in self._snapshots else self._untrained

    @property
    def accuracy(self) -> float:
        """The accuracy of the best model in its test."""
        return 0.0 if self.iteration is None else self._tests.get(self.iteration, (0.0, math.inf))[0]

    @property
    def diverged(self) -> bool:
        """Whether a loss in training was far above the first one while tests still improved."""
        return self._divergence < math.inf and self._divergence <= self._last_patience

    def requested(self) -> Action:
        """Return a request to stop if the training diverged, or if several tests improved neither score nor loss."""
        return Action.STOP if self._end < math.inf else Action.NONE

    @property
    def _end(self) -> float:
        """The iteration with the reason to stop, or infinity."""
        return min(self._divergence, self._last_patience)

    @property
    def _divergence(self) -> float:
        first = self._trained[min(self._trained)] if self._trained else math.inf
        return min((at for at, loss in self._trained.items() if not loss <= _DIVERGED * first), default=math.inf)

    @property
    def _last_patience(self) -> float:
        accuracy, loss, waited = -1.0, math.inf, 0
        for iteration in sorted(self._tests):
            new_accuracy, new_loss = self._tests[iteration]
            waited = 0 if new_accuracy > accuracy or new_loss < _LOWER * loss else waited + 1
            accuracy, loss = max(accuracy, new_accuracy), min(loss, new_loss)
            if self._patience is not None and waited >= self._patience:
                return iteration
        return math.inf


def _remove_snapshot(snapshot: SnapshotSaved) -> None:
    for path in (snapshot.model, snapshot.state, resume_path_of(snapshot.state)):
        path.unlink(missing_ok=True)


def best_so_far(folder: Path, patience: int | None, losses: Mapping[str, float]) -> BestSnapshot:
    """Return the snapshots and tests in the log of a run, which are none if it begins."""
    log, untrained = folder / EVENTS, folder / UNTRAINED
    lines = list(read_event_log(log)) if log.exists() else []
    best = BestSnapshot(patience, losses, moments_of(lines), untrained if untrained.exists() else None)
    for line in lines:
        if line.get("event") == "snapshot" and Path(line["model"]).is_file():
            best(SnapshotSaved(line["iteration"], Path(line["model"]), Path(line["state"])))
    return best
