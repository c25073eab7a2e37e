"""The display of training: lines for events and, on a terminal, a progress bar."""

from __future__ import annotations

import time

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from caffe_proto.errors import few
from netdsl.solver.events import (
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
)
from zoo.cli.output import complain, stdout_is_terminal
from zoo.cli.progress_bar import can_show_bars

_SHOWN = 10  # classes that a line names
_HELD_OUT = "; they are every tenth, which training leaves out: --test-data names others, or none"


def tell(event: Event, *, err: bool = False) -> None:
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
        self._bar = _bar() if can_show_bars() else None
        self._task = None if self._bar is None else self._bar.add_task("", total=None, detail="")
        if self._bar is not None:
            self._bar.start()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case WeightsLoaded():
                self._print(_weights_line(event))
            case DataOpened():
                self._print(data_line(event) + (_HELD_OUT if event.tests and self._held_out else ""))
            case TrainingStarted():
                self._items = event.items
                self._start_time, self._start_iteration = time.monotonic(), event.iteration
                if self._bar is not None and self._task is not None:
                    self._bar.update(self._task, total=event.last, completed=event.iteration)
                self._print(f"training {event.net or 'a net'} from iteration {event.iteration}")
            case IterationFinished():
                self._step(event.iteration)
            case TrainingProgress():
                self._loss = f"loss {event.loss:.4g}  rate {event.rate:.3g}"
                speed = self._speed(event.iteration)
                self._print(f"iteration {event.iteration}  {self._loss}{_single_values(event.outputs)}{speed}")
            case DebugInfo():
                for magnitude in event.magnitudes:
                    kind = "gradient of " if magnitude.gradient else ""
                    blob = f"blob {magnitude.blob}" if magnitude.is_param else f"top {magnitude.blob}"
                    self._print(f"iteration {event.iteration}  {kind}{magnitude.layer}, {blob}: {magnitude.mean:.4g}")
            case TestFinished():
                name = f"test {event.net}" if event.net else "test"
                loss = "" if event.loss is None else f"  loss {event.loss:.4g}"
                self._print(f"iteration {event.iteration}  {name}{loss}{_single_values(event.outputs)}")
                for each in event.classes:
                    self._print(f"iteration {event.iteration}  {name}, class {each.label}: {each.value:.4g}")
            case SnapshotSaved():
                self._print(f"iteration {event.iteration}  saved {event.model} and {event.state.name}")
            case Notice():
                complain(event.text)

    def _step(self, iteration: int) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=iteration, detail=self._loss + self._speed(iteration))

    def _speed(self, iteration: int) -> str:
        done, seconds = iteration - self._start_iteration, time.monotonic() - self._start_time
        return f"  {done * self._items / seconds:,.0f} images/s" if done and seconds and self._items else ""

    def _print(self, line: str) -> None:
        if not self._quiet:
            click.echo(line)

    def close(self) -> None:
        """Remove the bar from the terminal."""
        if self._bar is not None:
            self._bar.stop()


def data_line(data: DataOpened) -> str:
    """What a net reads, in a line."""
    items = f"{data.items:,} item{'' if data.items == 1 else 's'}"
    count = len(data.classes)
    kind = f"a vocabulary of {count}" if data.vocabulary else f"{count} class{'' if count == 1 else 'es'}"
    names = f", {kind} ({few(data.classes, _SHOWN)})" if count else ""
    return f"{'tests' if data.tests else 'trains'} on {data.source}: {items}{names}"


def _bar() -> Progress:
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
