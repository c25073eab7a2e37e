"""What came of a training, for a script that called it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netdsl.solver.events import (
    DataOpened,
    Event,
    IterationFinished,
    SnapshotSaved,
    TestFinished,
    TrainingProgress,
    TrainingStarted,
    WeightsLoaded,
    as_numbers,
)


class TrainingResult:
    """A listener that keeps the last of everything: loss, tests of each net, snapshot."""

    def __init__(self) -> None:
        self._net, self._iteration, self._last = "", 0, 0
        self._loss: float | None = None
        self._data: list[dict[str, object]] = []
        self._weights: list[str] = []
        self._tests: dict[int, dict[str, object]] = {}
        self._snapshot: dict[str, object] | None = None

    def __call__(self, event: Event) -> None:
        """Keep what an event tells."""
        match event:
            case DataOpened():
                self._data.append({"source": event.source, "items": event.items, "tests": event.tests})
            case WeightsLoaded():
                self._weights.append(str(event.report))
            case TrainingStarted():
                self._net, self._iteration, self._last = event.net, event.iteration, event.last
            case IterationFinished():
                self._iteration = event.iteration
            case TrainingProgress():
                self._loss = event.loss
            case TestFinished():
                outputs = dict(as_numbers(event.outputs))
                test: dict[str, object] = {"iteration": event.iteration, "loss": event.loss, "outputs": outputs}
                classes = {str(each.label): each.value for each in event.classes}
                self._tests[event.net] = {**test, **({"classes": classes} if classes else {})}
            case SnapshotSaved():
                self._snapshot = {
                    "iteration": event.iteration,
                    "model": str(event.model),
                    "state": str(event.state),
                }

    def plain(self, run: Path | None) -> dict[str, Any]:
        """Everything as JSON; `run` is the folder of a run that has one."""
        return {
            "net": self._net,
            "iteration": self._iteration,
            "finished": self._iteration >= self._last,
            "loss": self._loss,
            "tests": [test for _, test in sorted(self._tests.items())],
            "snapshot": self._snapshot,
            "data": self._data,
            "weights": self._weights,
            "run": None if run is None else str(run),
        }
