"""The display of a running command: a progress bar, the data and weights of nets, and notices."""

from __future__ import annotations

from contextlib import ExitStack

import click

from caffe_proto.errors import few
from netdsl.solver.events import DataOpened, Notice, WeightsLoaded
from zoo.cli.output import BYTES, can_show_bars, complain, counted, progress_bar
from zoo.requests.events import WorkDone, WorkEnded, WorkStarted
from zoo.requests.request import Request
from zoo.store.transfers import TransferProgress

_SHOWN = 10  # maximum number of classes in a line


class Display:
    """A listener that shows progress and prints notices.

    A `quiet` display shows only the bar and warnings. With `err`, all output goes to standard error.
    """

    def __init__(self, request: Request, doing: str, *, quiet: bool, err: bool) -> None:
        self.quiet, self._err = quiet, err
        self._bar = ExitStack()
        self._show_bar(WorkStarted(doing))

    def __call__(self, event: object) -> object:
        """Show an event. If the event is a question, return the answer."""
        match event:
            case WorkStarted():
                self._show_bar(event)
            case WorkDone(items):
                self._advance(items)
            case WorkEnded():
                self.hide_bar()
            case TransferProgress(name, received, total):
                if name != self._work.doing:
                    self._show_bar(WorkStarted(name, total, BYTES))
                self._advance(received - self._done)
            case Notice():
                complain(event.text)
            case _:
                self.tell(event)
        return None

    def tell(self, event: object) -> None:
        """Print which data and weights a net has got."""
        match event:
            case DataOpened() if not self.quiet:
                click.echo(data_line(event), err=self._err)
            case WeightsLoaded() if not self.quiet:
                click.echo(weights_line(event), err=self._err)

    def _show_bar(self, work: WorkStarted) -> None:
        self.hide_bar()
        self._work, self._done = work, 0.0
        self._move_bar = self._bar.enter_context(progress_bar(work.total, work.doing, work.unit))

    def hide_bar(self) -> None:
        """Remove the bar from the terminal."""
        self._bar.close()

    def _advance(self, items: float) -> None:
        before, self._done = self._done, self._done + items
        self._move_bar(items)
        work = self._work
        if work.unit in ("", BYTES) or not work.total or can_show_bars():
            return
        if before == 0 or 10 * before // work.total < 10 * self._done // work.total:
            click.echo(f"{work.doing}: {self._done:g} of {work.total:g} {work.unit} done", err=True)

    def close(self) -> None:
        """Restore the terminal."""
        self.hide_bar()


def data_line(data: DataOpened) -> str:
    """Return a line about a net's data."""
    count = len(data.classes)
    kind = f"a vocabulary of {count}" if data.vocabulary else f"{count} class{'' if count == 1 else 'es'}"
    names = f", {kind} ({few(data.classes, _SHOWN)})" if count else ""
    return f"{'tests' if data.tests else 'trains'} on {data.source}: {counted(data.items, 'item')}{names}"


def weights_line(loaded: WeightsLoaded) -> str:
    """Return a line about a net's weights."""
    return f"weights {', '.join(map(str, loaded.paths))}: {loaded.report}"
