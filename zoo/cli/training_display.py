"""A training at a terminal: what it shows, what a script gets of it, and the signals that stop or save it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from caffe_proto.errors import few
from netdsl.solver.events import (
    Action,
    DataOpened,
    DebugInfo,
    Event,
    IterationFinished,
    Notice,
    Output,
    SnapshotSaved,
    TestFinished,
    TrainingProgress,
    TrainingStarted,
    WeightsLoaded,
    as_numbers,
)
from zoo.cli.output import can_show_bars, complain, counted, stdout_is_terminal

_SHOWN = 10  # classes that a line names
_HELD_OUT = "; they are every tenth, which training leaves out: --test-data names others, or none"


def tell(event: object, *, err: bool = False) -> None:
    """Print what data and weights a net has been given, and warn of what a user should know; with `err` all of it on
    standard error.
    """
    match event:
        case DataOpened():
            click.echo(data_line(event), err=err)
        case WeightsLoaded():
            click.echo(_weights_line(event), err=err)
        case Notice():
            complain(event.text)


class TrainingDisplay:
    """A listener that prints displays, tests and snapshots; a terminal also gets a bar with the remaining time.

    `held_out` says that tests are on items which training leaves out without being asked to. A `quiet` one
    has the bar and the warnings only.
    """

    def __init__(self, *, held_out: bool = False, quiet: bool = False) -> None:
        self._held_out, self._quiet = held_out, quiet
        self._items, self._loss = 0, ""
        self._start_time, self._start_iteration = time.monotonic(), 0
        self._bar = _training_bar() if can_show_bars() else None
        self._task = None if self._bar is None else self._bar.add_task("", total=None, detail="")
        if self._bar is not None:
            self._bar.start()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case WeightsLoaded():
                self._print_line(_weights_line(event))
            case DataOpened():
                self._print_line(data_line(event) + (_HELD_OUT if event.tests and self._held_out else ""))
            case TrainingStarted():
                self._items = event.items
                self._start_time, self._start_iteration = time.monotonic(), event.iteration
                if self._bar is not None and self._task is not None:
                    self._bar.update(self._task, total=event.last, completed=event.iteration)
                self._print_line(f"training {event.net or 'a net'} from iteration {event.iteration}")
            case IterationFinished():
                self._move_bar(event.iteration)
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
            case Notice():
                complain(event.text)

    def _move_bar(self, iteration: int) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=iteration, detail=self._loss + self._speed(iteration))

    def _speed(self, iteration: int) -> str:
        done, seconds = iteration - self._start_iteration, time.monotonic() - self._start_time
        return f"  {done * self._items / seconds:,.0f} images/s" if done and seconds and self._items else ""

    def _print_line(self, line: str) -> None:
        if not self._quiet:
            click.echo(line)

    def close(self) -> None:
        """Remove the bar from the terminal."""
        if self._bar is not None:
            self._bar.stop()


def data_line(data: DataOpened) -> str:
    """What a net reads, in a line."""
    count = len(data.classes)
    kind = f"a vocabulary of {count}" if data.vocabulary else f"{count} class{'' if count == 1 else 'es'}"
    names = f", {kind} ({few(data.classes, _SHOWN)})" if count else ""
    return f"{'tests' if data.tests else 'trains'} on {data.source}: {counted(data.items, 'item')}{names}"


def _training_bar() -> Progress:
    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}"),
    )
    return Progress(
        *columns,
        console=Console(stderr=True),
        refresh_per_second=5,
        transient=True,
        redirect_stdout=stdout_is_terminal(),
    )


def _weights_line(loaded: WeightsLoaded) -> str:
    return f"weights {', '.join(map(str, loaded.paths))}: {loaded.report}"


def _single_values(outputs: tuple[Output, ...]) -> str:
    """The outputs of one value as text; larger blobs are left out."""
    single = [f"{output.name} {output.values[0]:.4g}" for output in outputs if len(output.values) == 1]
    return f"  ({', '.join(single)})" if single else ""


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


@contextmanager
def signal_actions(on_interrupt: Action, on_hangup: Action) -> Iterator[Callable[[], Action]]:
    """A function that returns the actions of the signals that came, one at each call; that of SIGTERM is to stop.

    A second signal to stop ends the program at once, if the first one's action hasn't been returned yet.
    """
    actions = {signal.SIGINT: on_interrupt, signal.SIGTERM: Action.STOP, signal.SIGHUP: on_hangup}
    pending: list[Action] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGHUP and Action.STOP in pending:
            raise KeyboardInterrupt
        pending.append(actions[signal.Signals(number)])

    def next_action() -> Action:
        return pending.pop(0) if pending else Action.NONE

    previous_handlers = {number: signal.signal(number, handle) for number in actions}
    try:
        yield next_action
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
