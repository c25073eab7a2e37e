"""Listeners of a training run: a program's callbacks, the history, early stopping, and progress on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, overload

from netdsl.charts import Curve, less_is_better, loss_chart, score_chart, svg_of
from netdsl.distributed.loop import model_score
from netdsl.distributed.run_log import Moment, moments_of
from netdsl.errors import SolverError
from netdsl.html_table import html_table
from netdsl.solver.events import (
    Action,
    Event,
    IterationFinished,
    TestFinished,
    TrainingProgress,
    TrainingStarted,
    as_numbers,
    event_as_json,
)

# A program's function that gets every training event and can return an action, such as `Action.STOP`.
Callback = Callable[[Event], Action | None]

_REDRAWN = 0.2  # seconds between two updates of the progress line


class Hearing:
    """Calls the callbacks of one training with its events, and remembers the actions that they request."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self._callbacks = callbacks
        self._action = Action.NONE

    def __call__(self, event: Event) -> None:
        """Pass an event to all callbacks."""
        for callback in self._callbacks:
            action = callback(event)
            if isinstance(action, Action) and action is not Action.NONE and self._action is not Action.STOP:
                self._action = action

    def requested(self) -> Action:
        """Return the action that a callback has requested since the last call."""
        action, self._action = self._action, Action.NONE
        return action


class History(Sequence[Moment]):
    """The displays and tests of a training, as a table with one moment for each iteration that has any.

    `pandas.DataFrame(history.columns())` returns the same as a DataFrame.
    """

    def __init__(self, moments: Sequence[Moment] = ()) -> None:
        self._moments: tuple[Moment, ...] | None = tuple(moments)
        self._lines: list[dict[str, Any]] = []

    def __call__(self, event: Event) -> None:
        """Add an event if it is a display or a test."""
        line = event_as_json(event)
        if line is not None and line["event"] in ("train", "test"):
            self._lines.append(line)
            self._moments = None  # computed again when they are needed

    @property
    def moments(self) -> tuple[Moment, ...]:
        """The moments, in the order of their iterations."""
        if self._moments is None:
            self._moments = moments_of(self._lines)
        return self._moments

    def __len__(self) -> int:
        return len(self.moments)

    def __iter__(self) -> Iterator[Moment]:
        return iter(self.moments)

    @overload
    def __getitem__(self, index: int) -> Moment: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Moment, ...]: ...
    def __getitem__(self, index: int | slice) -> Moment | tuple[Moment, ...]:
        return self.moments[index]

    def columns(self) -> Mapping[str, list[float | None]]:
        """Return the columns of the table: iteration, loss, and every output of tests. Missing values are `None`."""
        tested = list(dict.fromkeys(name for moment in self for name in moment.tested))
        columns: dict[str, list[float | None]] = {
            "iteration": [moment.iteration for moment in self],
            "loss": [moment.loss for moment in self],
        }
        return columns | {f"test {name}": [moment.tested.get(name) for moment in self] for name in tested}

    def __repr__(self) -> str:
        columns = self.columns()
        rows = [list(columns), *([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.rjust, row, widths)) for row in rows)

    def _repr_html_(self) -> str:
        losses, scores = dict[str, Curve](), dict[str, Curve]()
        for name, values in self.columns().items():
            pairs = zip((moment.iteration for moment in self), values, strict=True)
            if name != "iteration":
                kind = losses if less_is_better(name) else scores
                kind[name] = {iteration: value for iteration, value in pairs if value is not None}
        charts = [chart for chart in (loss_chart("Loss", losses), score_chart("Test", scores)) if chart is not None]
        rows = ([_cell(value) for value in row] for row in zip(*self.columns().values(), strict=True))
        table = html_table(f"History of {len(self)} moments", list(self.columns()), rows)
        return "".join([*map(svg_of, charts), table])


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


class EarlyStopping:
    """A callback that ends training when the tests stop improving.

    Training stops after `patience` tests in a row that weren't better than the best earlier test. `metric` names an
    output of the test net. Higher values are better unless the output is a loss. The default metric is a score of the
    whole set or an accuracy, or else the first output. `least_change` is the improvement that a test needs in order to
    count.
    """

    def __init__(self, patience: int = 3, metric: str | None = None, *, least_change: float = 0.0) -> None:
        self.patience, self.metric, self.least_change = patience, metric, least_change
        self.best: float | None = None
        self.best_iteration: int | None = None
        self.waited = 0  # the number of tests since the best one

    def __call__(self, event: Event) -> Action | None:
        """Compare a test with the best one. Returns a request to stop when patience runs out."""
        if not isinstance(event, TestFinished) or event.net:
            return None
        score = self._score_of(event)
        if self.best is None or score > self.best + self.least_change:
            self.best, self.best_iteration, self.waited = score, event.iteration, 0
        else:
            self.waited += 1
        return Action.STOP if self.waited >= self.patience else None

    def _score_of(self, test: TestFinished) -> float:
        """Return the value of the metric, negated for a loss, so that higher is better."""
        values = as_numbers(test.outputs)
        if self.metric is None:
            score = model_score(test)
            if score is None:
                raise SolverError(
                    "the test net has no output that can be compared; add an Accuracy or a loss layer to phase TEST"
                )
            return score
        if self.metric not in values:
            raise SolverError(
                f"the test net has no output '{self.metric}', only {', '.join(values) or 'none'}; name one of "
                "these as the metric"
            )
        is_loss = any(each.loss_weight for each in test.outputs if each.name == self.metric)
        return -values[self.metric] if is_loss else values[self.metric]


class Progress:
    """A callback that keeps rewriting one line of progress, for a terminal or a notebook."""

    def __init__(self) -> None:
        self._last, self._drawn, self._width, self._loss = 0, 0.0, 0, ""

    def __call__(self, event: Event) -> None:
        """Update the line. Iterations without a new loss update it at most every 0.2 seconds."""
        match event:
            case TrainingStarted():
                self._last = event.last
            case TrainingProgress():
                self._loss = f"  loss {event.loss:.4g}"
                self._write(event.iteration)
            case TestFinished():
                values = "  ".join(f"{name} {value:.4g}" for name, value in as_numbers(event.outputs).items())
                self._write(event.iteration, f"  test {values}\n")
            case IterationFinished() if time.monotonic() - self._drawn > _REDRAWN:
                self._write(event.iteration)

    def _write(self, iteration: int, more: str = "") -> None:
        self._drawn = time.monotonic()
        text = f"iteration {iteration} of {self._last}{self._loss}{more}"
        sys.stderr.write(f"\r{text.ljust(self._width)}")
        sys.stderr.flush()
        self._width = 0 if more else len(text)
