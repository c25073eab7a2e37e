"""The display of a training on a terminal, its output for scripts, and the signals that stop or save it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import ExitStack

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from caffe_proto.errors import few
from netdsl.solver.events import (
    Action,
    DataOpened,
    DebugInfo,
    IterationFinished,
    Output,
    SnapshotSaved,
    TestFinished,
    TrainingProgress,
    TrainingStarted,
    WeightsLoaded,
    WorkersRestarted,
    no_action,
)
from zoo.cli.display import Display, data_line, weights_line
from zoo.cli.output import can_show_bars, complain, print_line, stdout_is_terminal
from zoo.cli.signals import signal_actions
from zoo.finetuning.cross_validation import FoldProgress
from zoo.finetuning.result import FineTuned
from zoo.finetuning.start import FineTuning
from zoo.requests.events import RunBegins, WhatNext, WorkStarted
from zoo.requests.request import Request
from zoo.requests.training import TrainRequest, TuneRequest
from zoo.training import TrainedRun

_SHOWN = 10  # maximum number of classes in a line
_HELD_OUT = "; they are every tenth item, and training leaves them out; choose others with --test-data, or none"


class TrainingDisplay(Display):
    """A display of losses, tests and snapshots, with a bar and the remaining time. Pending signals answer the question
    what a run should do next."""

    on_interrupt, on_hangup = Action.STOP, Action.SNAPSHOT

    def __init__(self, request: Request, doing: str, *, quiet: bool, err: bool) -> None:
        self._is_training = False
        super().__init__(request, doing, quiet=quiet, err=err)
        self._held_out = False
        self._items, self._loss = 0, ""
        self._start_time, self._start_iteration = time.monotonic(), 0
        self._signals = ExitStack()
        self._next_action = no_action
        self._training_bar: Progress | None = None

    def __call__(self, event: object) -> object:
        """Show an event, or answer a question."""
        if isinstance(event, WhatNext):
            return self._next_action()
        if isinstance(event, RunBegins):
            self._held_out = event.held_out
            self._next_action = self._signals.enter_context(signal_actions(self.on_interrupt, self.on_hangup))
            return None
        return super().__call__(event)

    def show_bar(self, work: WorkStarted) -> None:
        """Show a bar for work in place of the last one, unless the bar of the training is shown."""
        if not self._is_training:
            super().show_bar(work)

    def tell(self, event: object) -> None:
        """Print an event of the training."""
        match event:
            case WeightsLoaded():
                self._print_line(weights_line(event))
            case DataOpened():
                self._print_line(data_line(event) + (_HELD_OUT if event.tests and self._held_out else ""))
            case TrainingStarted():
                self._begin(event)
            case IterationFinished():
                self._move_training_bar(event.iteration)
            case TrainingProgress():
                self._loss = f"loss {event.loss:.4g}  rate {event.rate:.3g}"
                speed = self._speed(event.iteration)
                self._print_line(f"iteration {event.iteration}  {self._loss}{_single_values(event.outputs)}{speed}")
            case DebugInfo():
                for magnitude in event.magnitudes:
                    kind = "gradient of " if magnitude.gradient else ""
                    blob = f"blob {magnitude.blob}" if magnitude.is_param else f"top {magnitude.blob}"
                    self._print_line(
                        f"iteration {event.iteration}  {kind}{magnitude.layer}, {blob}: {magnitude.mean:.4g}"
                    )
            case TestFinished():
                name = f"test {event.net}" if event.net else "test"
                loss = "" if event.loss is None else f"  loss {event.loss:.4g}"
                self._print_line(f"iteration {event.iteration}  {name}{loss}{_single_values(event.outputs)}")
                for each in event.classes:
                    self._print_line(f"iteration {event.iteration}  {name}, class {each.label}: {each.value:.4g}")
            case SnapshotSaved():
                self._print_line(f"iteration {event.iteration}  saved {event.model} and {event.state.name}")
            case WorkersRestarted():
                again = "all workers start again from the last saved round"
                complain(f"{event.reason}\n{again} (start {event.start})")

    def _begin(self, started: TrainingStarted) -> None:
        self._items = started.items
        self._start_time, self._start_iteration = time.monotonic(), started.iteration
        self.hide_bar()
        self._is_training = True
        if can_show_bars() and self._training_bar is None:
            self._training_bar = _training_bar()
            self._task = self._training_bar.add_task("", total=None, detail="")
            self._training_bar.start()
        if self._training_bar is not None:
            self._training_bar.update(self._task, total=started.last, completed=started.iteration)
        self._print_line(f"training {started.net or 'a net'} from iteration {started.iteration}")

    def _move_training_bar(self, iteration: int) -> None:
        if self._training_bar is not None:
            self._training_bar.update(self._task, completed=iteration, detail=self._loss + self._speed(iteration))

    def _speed(self, iteration: int) -> str:
        done, seconds = iteration - self._start_iteration, time.monotonic() - self._start_time
        return f"  {done * self._items / seconds:,.0f} images/s" if done and seconds and self._items else ""

    def _print_line(self, line: str) -> None:
        if not self.quiet:
            print_line(line)

    def close(self) -> None:
        """Remove the bar from the terminal, and restore the effects of signals."""
        super().close()
        self._signals.close()
        if self._training_bar is not None:
            self._training_bar.stop()


class RunDisplay(TrainingDisplay):
    """The display of `zoo train`. The request sets the effects of signals."""

    def __init__(self, request: TrainRequest, doing: str, *, quiet: bool, err: bool) -> None:
        super().__init__(request, doing, quiet=quiet, err=err)
        self.on_interrupt, self.on_hangup = Action(request.on_interrupt), Action(request.on_hangup)


class TuningDisplay(TrainingDisplay):
    """The display of `zoo finetune`. It doesn't print snapshots, since most of them are replaced by better ones."""

    def tell(self, event: object) -> None:
        """Print the facts about the model and the data, the progress of folds, and the events of the training."""
        if isinstance(event, FineTuning):
            for line in _tuning_lines(event):
                self._print_line(line)
        elif isinstance(event, FoldProgress):
            self._print_line(event.line)
        elif not isinstance(event, SnapshotSaved):
            super().tell(event)


def _tuning_lines(tuning: FineTuning) -> Iterator[str]:
    """Yield the facts about the model and the data, and their consequences."""
    data = tuning.data
    yield f"{len(data.classes)} classes: {few(data.classes, 10)}"
    yield f"{data.train_count:,} items to train on; {data.test_count:,} are held out to test on"
    yield f"images are {tuning.preparation}"
    yield from tuning.notes
    heads = ", ".join(f"'{old}' becomes '{new}'" for old, new in tuning.heads.items())
    yield f"{heads}, trained from scratch; the other layers begin with the model's weights"
    if tuning.frozen:
        yield f"{len(tuning.frozen)} layers keep their weights: {', '.join(tuning.frozen)}"
    yield from tuning.notices


def show_trained(trained: TrainedRun | None, request: TrainRequest) -> None:
    """Print the accuracy of the last test with its interval, compared with baselines."""
    if trained is not None and trained.measured is not None:
        for line in trained.measured.lines:
            print_line(line)


def show_tuned(tuned: FineTuned | None, request: TuneRequest) -> None:
    """Print the new model's accuracy and folder, and what to do next."""
    if tuned is None:
        return
    for name, difference in tuned.differences.items():
        print_line(f"{name} computes the same values: outputs differ by {difference:.1e} of their spread")
    tested = "in the cross-validation" if tuned.measured.folds else "on held-out items"
    print_line(f"accuracy {tuned.accuracy:.2%} {tested}; the model is in {tuned.folder}")
    for line in tuned.measured.lines:
        print_line(line)
    folder = shlex.quote(str(tuned.folder))
    print_line(f"next: zoo predict {folder} IMAGE, or zoo serve {folder}")


def _training_bar() -> Progress:
    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    return Progress(
        *columns,
        console=Console(stderr=True),
        refresh_per_second=5,
        transient=True,
        redirect_stdout=stdout_is_terminal(),
    )


def _single_values(outputs: tuple[Output, ...]) -> str:
    """Return the outputs with a single value as text. Larger blobs are left out."""
    single = [f"{output.name} {output.values[0]:.4g}" for output in outputs if len(output.values) == 1]
    return f"  ({', '.join(single)})" if single else ""
